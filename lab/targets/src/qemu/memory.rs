//! A guest's memory as files that the emulator and we share, so that it can be read from outside.
//!
//! The files have no names and use memory only where the guest wrote. They disappear with this process and the emulator in
//! any case.

use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::machine::MachineShape;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Memory up to here lies below the devices' addresses; the command line says so.
pub(super) const LOW_GIB: u64 = 3;

/// Where the rest of the memory begins.
const HIGH_FROM: u64 = 4 << 30;

/// A guest's memory: one file for each memory node.
#[derive(Debug)]
pub(super) struct GuestMemory {
    nodes: Vec<File>,
    node_bytes: u64,
}

impl GuestMemory {
    /// Empty memory for a machine of that shape. `scratch`: a directory for systems that have no files in memory. Fails if the
    /// files cannot be created.
    pub(super) fn new(shape: MachineShape, scratch: &Path) -> io::Result<Self> {
        let node_bytes = (shape.memory_mib() << 20) / u64::from(shape.sockets());
        let node = |_| {
            let file = unnamed(scratch)?;
            file.set_len(node_bytes)?;
            Ok(file)
        };
        Ok(GuestMemory { nodes: (0..shape.sockets()).map(node).collect::<io::Result<_>>()?, node_bytes })
    }

    /// The path of each node's file for another process of ours.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.nodes.iter().map(path_of).collect()
    }

    fn bytes(&self) -> u64 {
        self.node_bytes * self.nodes.len() as u64
    }

    /// The place of a physical address in all files one after the other, and the number of bytes from there to a hole.
    fn place(&self, address: u64) -> Option<(u64, u64)> {
        let low = self.bytes().min(LOW_GIB << 30);
        if address < low {
            return Some((address, low - address));
        }
        let place = address.checked_sub(HIGH_FROM)?.checked_add(low)?;
        Some((place, self.bytes().checked_sub(place)?))
    }
}

impl PhysicalMemory for GuestMemory {
    fn end(&self) -> u64 {
        match self.bytes().checked_sub(LOW_GIB << 30) {
            None | Some(0) => self.bytes(),
            Some(high) => HIGH_FROM + high,
        }
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some((mut place, _)) = self.place(address).filter(|&(_, room)| bytes.len() as u64 <= room) else {
            return false;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (node, at) = ((place / self.node_bytes) as usize, place % self.node_bytes);
            let count = (self.node_bytes - at).min(rest.len() as u64);
            let (part, behind) = rest.split_at_mut(count as usize);
            if self.nodes.get(node).is_none_or(|file| file.read_exact_at(part, at).is_err()) {
                return false;
            }
            (place, rest) = (place + count, behind);
        }
        true
    }
}

#[cfg(target_os = "linux")]
fn unnamed(_scratch: &Path) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("faultline-guest", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed(scratch: &Path) -> io::Result<File> {
    tempfile::tempfile_in(scratch)
}

/// The path under which another process of ours can open it.
pub(super) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(sockets: u32, memory_mib: u64) -> GuestMemory {
        GuestMemory::new(MachineShape::new(4, sockets, Some(memory_mib)).unwrap(), &std::env::temp_dir()).unwrap()
    }

    fn read(memory: &GuestMemory, address: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        memory.read(address, &mut bytes).then_some(bytes)
    }

    #[test]
    fn nodes_follow_each_other() {
        let memory = memory(2, 1024);
        memory.nodes[0].write_all_at(b"ab", (512 << 20) - 2).unwrap();
        memory.nodes[1].write_all_at(b"cd", 0).unwrap();
        assert_eq!(memory.end(), 1 << 30);
        assert_eq!(read(&memory, (512 << 20) - 2, 4).as_deref(), Some(&b"abcd"[..]));
        assert_eq!(read(&memory, (1 << 30) - 1, 2), None, "beyond the end");
        assert_eq!(read(&memory, u64::MAX, 1), None);
    }

    #[test]
    fn the_devices_addresses_are_no_memory() {
        let memory = memory(1, 5 << 10);
        memory.nodes[0].write_all_at(b"low", (3 << 30) - 3).unwrap();
        memory.nodes[0].write_all_at(b"high", 3 << 30).unwrap();
        assert_eq!(memory.end(), 6 << 30);
        assert_eq!(read(&memory, (3 << 30) - 3, 3).as_deref(), Some(&b"low"[..]));
        assert_eq!(read(&memory, (3 << 30) - 3, 4), None);
        assert_eq!(read(&memory, 7 << 29, 1), None);
        assert_eq!(read(&memory, 4 << 30, 4).as_deref(), Some(&b"high"[..]));
    }
}
