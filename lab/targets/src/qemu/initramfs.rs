//! The guest's file system: the agent as its first process, the workloads or a program's files, and
//! the plan of one boot.

use super::KernelImage;
use crate::TargetError;
use crate::agent::{GuestProgram, Plan};
use crate::program_files::tree::{Node, Tree};
use cpio::newc::Builder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Directory of the workloads' programs in a guest.
pub(super) const WORKLOADS: &str = "/workloads";

const PLAN: &str = "faultline/plan";
const DIRECTORIES: [&str; 2] = ["faultline", "workloads"];
const DIRECTORY_MODE: u32 = 0o040_755;
const PROGRAM_MODE: u32 = 0o100_755;
const FILE_MODE: u32 = 0o100_644;

/// File types in the mode.
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK_MODE: u32 = 0o120_777;

/// Writes the archive, in the kernel's own format (`newc`). `trees`: further files. Fails if `out`
/// cannot be written, or a file cannot be read.
pub(super) fn write(
    out: impl Write,
    agent: &[u8],
    programs: &[GuestProgram],
    trees: &[&Tree],
    plan: &Plan,
) -> io::Result<()> {
    let mut archive = Archive { out, entries: 0 };
    for (path, node) in trees.iter().flat_map(|tree| tree.nodes()) {
        archive = archive.put_node(path, node)?;
    }
    for directory in DIRECTORIES {
        archive = archive.put(directory, DIRECTORY_MODE, &[])?;
    }
    archive = archive.put("init", PROGRAM_MODE, agent)?;
    for program in programs {
        archive = archive.put(&format!("workloads/{}", program.name), PROGRAM_MODE, &program.bytes)?;
    }
    archive = archive.put(PLAN, FILE_MODE, &plan.bytes())?;
    cpio::newc::trailer(archive.out)?.flush()
}

struct Archive<W> {
    out: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    /// Inode numbers must differ: the kernel treats equal ones as links to one file.
    fn put(self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<Self> {
        let entries = self.entries + 1;
        let size = u32::try_from(bytes.len()).map_err(|_| io::Error::other(format!("{name} is too large")))?;
        let mut entry = Builder::new(name).ino(entries).nlink(1).mode(mode).write(self.out, size);
        entry.write_all(bytes)?;
        Ok(Archive { out: entry.finish()?, entries })
    }

    fn put_node(self, path: &Path, node: &Node) -> io::Result<Self> {
        let name = path.strip_prefix("/").unwrap_or(path).to_str();
        let name = name.ok_or_else(|| io::Error::other(format!("the name of {} is not UTF-8", path.display())))?;
        match node {
            Node::Directory(mode) => self.put(name, DIRECTORY | mode, &[]),
            Node::Link(text) => self.put(name, LINK_MODE, text.as_os_str().as_encoded_bytes()),
            Node::Text(text) => self.put(name, FILE_MODE, text.as_bytes()),
            Node::File { source, mode, .. } => {
                let bytes = fs::read(source)
                    .map_err(|error| io::Error::other(format!("{} cannot be read: {error}", source.display())))?;
                self.put(name, REGULAR | mode, &bytes)
            }
        }
    }
}

/// Modules of the card, each after its dependencies. The kernel's age and configuration decide
/// which of them exist.
const MODULES: [&str; 9] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "dimlib",
    "virtio_net",
];

/// The driver itself.
const DRIVER: &str = "virtio_net";

/// Directory of modules below a directory above the image.
const BELOW: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Directory of the modules in a guest.
const IN_GUEST: &str = "/faultline/modules";

/// Modules that a guest loads, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NetworkDrivers {
    files: Vec<PathBuf>,
    in_guest: Vec<String>,
}

/// Fails if a kernel has the card's driver neither as a module nor built in.
pub fn check_network_drivers(kernel: &KernelImage) -> Result<(), TargetError> {
    NetworkDrivers::of(kernel).map(drop)
}

impl NetworkDrivers {
    /// The drivers of a kernel, from the tree that contains its image.
    pub(super) fn of(kernel: &KernelImage) -> Result<Self, TargetError> {
        let release = kernel.build.as_ref().map_or("", |(release, _)| release.as_str());
        let trees =
            kernel.path.ancestors().skip(1).flat_map(|above| BELOW.map(|below| above.join(below).join(release)));
        for tree in trees.filter(|tree| !release.is_empty() && tree.is_dir()) {
            let mut found = Vec::new();
            collect(&tree, &mut found);
            let built_in = std::fs::read_to_string(tree.join("modules.builtin")).unwrap_or_default();
            let is_built_in = built_in.lines().any(|line| module_name(Path::new(line)) == Some(DRIVER.to_owned()));
            let of = |name: &&str| found.iter().find(|file| module_name(file).as_deref() == Some(*name)).cloned();
            let files: Vec<PathBuf> = MODULES.iter().filter_map(of).collect();
            if is_built_in || files.iter().any(|file| module_name(file).as_deref() == Some(DRIVER)) {
                let name =
                    |file: &PathBuf| format!("{IN_GUEST}/{}", file.file_name().unwrap_or_default().to_string_lossy());
                return Ok(NetworkDrivers { in_guest: files.iter().map(name).collect(), files });
            }
        }
        Err(TargetError {
            problem: format!(
                "the kernel {} comes without the driver {DRIVER} for a network between guests",
                kernel.path.display()
            ),
            hint: "its modules belong beside it, in lib/modules; `make kernel` unpacks a kernel with them".to_owned(),
        })
    }

    /// The files in the guest, in the order of loading.
    pub(super) fn in_order(&self) -> &[String] {
        &self.in_guest
    }

    /// The modules as further files for the guest. Fails, with a text, if one cannot be read.
    pub(super) fn tree(&self) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for (file, name) in self.files.iter().zip(&self.in_guest) {
            tree.add_at(file, Path::new(name)).map_err(|error| format!("the module {}: {error}", file.display()))?;
        }
        Ok(tree)
    }
}

/// All module files below a directory. Links are not followed.
fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), found),
            Ok(kind) if kind.is_file() && module_name(&entry.path()).is_some() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// The name of the module in a file, compressed or not; `None` for another file.
fn module_name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].iter().find_map(|end| name.strip_suffix(end))?;
    Some(name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;

    #[test]
    fn what_is_written_reads_back() {
        let programs = [GuestProgram { name: "zero_fill".into(), bytes: vec![7; 5] }];
        let mut plan = Plan::default();
        plan.add(&["run", "/workloads/zero_fill"]);
        let mut archive = Vec::new();
        let mut tree = Tree::default();
        tree.add_text(Path::new("/etc/hosts"), "127.0.0.1 localhost\n");
        write(&mut archive, b"agent", &programs, &[&tree], &plan).unwrap();

        let mut left = archive.as_slice();
        let mut found = Vec::new();
        loop {
            let mut reader = cpio::newc::Reader::new(left).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            found.push((reader.entry().name().to_owned(), reader.entry().mode(), bytes));
            left = reader.finish().unwrap();
        }
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            ["etc", "etc/hosts", "faultline", "workloads", "init", "workloads/zero_fill", "faultline/plan"]
        );
        assert_eq!(found[1], ("etc/hosts".to_owned(), FILE_MODE, b"127.0.0.1 localhost\n".to_vec()));
        assert_eq!(found[4], ("init".to_owned(), PROGRAM_MODE, b"agent".to_vec()));
        assert_eq!(found[5].2, [7; 5]);
        assert_eq!(found[6].2, b"2\0run\0/workloads/zero_fill\0");
    }

    fn kernel(root: &Path) -> KernelImage {
        let path = root.join("boot/vmlinuz");
        KernelImage { path, sha256: String::new(), build: Some(("6.1".to_owned(), "#1".to_owned())) }
    }

    #[test]
    fn modules_are_found_beside_the_image_in_the_order_in_which_they_need_each_other() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("usr/lib/modules/6.1/kernel/drivers");
        fs::create_dir_all(modules.join("net")).unwrap();
        assert!(
            NetworkDrivers::of(&kernel(root.path())).unwrap_err().problem.contains("without the driver virtio_net")
        );
        for file in ["net/virtio_net.ko.xz", "virtio_ring.ko", "other.ko", "virtio_pci.ko.xz"] {
            fs::write(modules.join(file), "").unwrap();
        }
        let drivers = NetworkDrivers::of(&kernel(root.path())).unwrap();
        let order = ["virtio_ring.ko", "virtio_pci.ko.xz", "virtio_net.ko.xz"].map(|name| format!("{IN_GUEST}/{name}"));
        assert_eq!(drivers.in_order(), order);
    }

    #[test]
    fn built_in_drivers_need_no_files() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("lib/modules/6.1");
        fs::create_dir_all(&modules).unwrap();
        fs::write(modules.join("modules.builtin"), "kernel/drivers/net/virtio_net.ko\n").unwrap();
        assert_eq!(NetworkDrivers::of(&kernel(root.path())), Ok(NetworkDrivers::default()));
    }
}
