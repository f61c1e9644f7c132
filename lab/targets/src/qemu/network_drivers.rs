//! The drivers of a guest's network card: what its kernel has as modules beside its image. A kernel with the drivers built in needs none.

use super::KernelImage;
use crate::TargetError;
use crate::program_files::tree::Tree;
use std::path::{Path, PathBuf};

/// Modules of the card, each after those that it needs. Which of them there are depends on the kernel's age and configuration.
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

/// Where modules lie below a directory above the image.
const BELOW: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// Directory of the modules in a guest.
const IN_GUEST: &str = "/faultline/modules";

/// Modules that a guest loads, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NetworkDrivers {
    files: Vec<PathBuf>,
    in_guest: Vec<String>,
}

/// Fails if a kernel lacks the driver of the card, as module and built in.
pub fn check_network_drivers(kernel: &KernelImage) -> Result<(), TargetError> {
    NetworkDrivers::of(kernel).map(drop)
}

impl NetworkDrivers {
    /// Those of a kernel, from the tree in which its image lies.
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

    /// The files in the guest, in the order in which they are loaded.
    pub(super) fn in_order(&self) -> &[String] {
        &self.in_guest
    }

    /// The same as further files for the guest. Fails, in words, if one cannot be read.
    pub(super) fn tree(&self) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for (file, name) in self.files.iter().zip(&self.in_guest) {
            tree.add_at(file, Path::new(name)).map_err(|error| format!("the module {}: {error}", file.display()))?;
        }
        Ok(tree)
    }
}

/// All files of modules below a directory; links are not followed.
fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), found),
            Ok(kind) if kind.is_file() && module_name(&entry.path()).is_some() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// The name of the module in a file, compressed or not; `None` if it is another file.
fn module_name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].iter().find_map(|end| name.strip_suffix(end))?;
    Some(name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
