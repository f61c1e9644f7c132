//! The guest's file system: the agent as its first process, the workloads or a program's files, and the plan of one boot.

use crate::agent::GuestProgram;
use crate::agent::Plan;
use crate::program_files::tree::{Node, Tree};
use cpio::newc::Builder;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Directory of the workloads' programs in a guest.
pub(super) const WORKLOADS: &str = "/workloads";

const PLAN: &str = "faultline/plan";
const DIRECTORIES: [&str; 2] = ["faultline", "workloads"];
const DIRECTORY_MODE: u32 = 0o040_755;
const PROGRAM_MODE: u32 = 0o100_755;
const FILE_MODE: u32 = 0o100_644;

/// The kinds of files in their modes.
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK_MODE: u32 = 0o120_777;

/// Writes the archive, in the kernel's own format (`newc`). `trees`: further files. Fails if `out` cannot be written, or a file cannot be read.
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
