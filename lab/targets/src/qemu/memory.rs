//! A guest's memory as files that the emulator and we share, so that it can be read from outside.
//!
//! The files have no names and use memory only where the guest wrote. They disappear with this
//! process and the emulator.

use crate::counting::AtEnd;
use faultline_record::lens::guest_kernel::PhysicalMemory;
use faultline_record::machine::MachineShape;
use std::fs::File;
use std::io;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::{Scope, ScopedJoinHandle};

/// End of the memory below the devices' addresses, as on the command line.
pub(super) const LOW_GIB: u64 = 3;

/// Start address of the rest of the memory.
const HIGH_FROM: u64 = 4 << 30;

/// A guest's memory: one file for each memory node.
#[derive(Debug)]
pub(super) struct GuestMemory {
    nodes: Vec<File>,
    node_bytes: u64,
}

impl GuestMemory {
    /// Empty memory for a machine of that shape. `scratch`: a directory for systems without files
    /// in memory. Fails if the files cannot be created.
    pub(super) fn new(shape: MachineShape, scratch: &Path) -> io::Result<Self> {
        let node_bytes = (shape.memory_mib() << 20) / u64::from(shape.sockets());
        let node = |_| {
            let file = unnamed(scratch)?;
            file.set_len(node_bytes)?;
            Ok(file)
        };
        Ok(GuestMemory { nodes: (0..shape.sockets()).map(node).collect::<io::Result<_>>()?, node_bytes })
    }

    /// Path of each node's file for another process of ours.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.nodes.iter().map(path_of).collect()
    }

    fn bytes(&self) -> u64 {
        self.node_bytes * self.nodes.len() as u64
    }

    /// Offset of a physical address in the concatenated files, and the number of bytes from there
    /// to a hole.
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

/// The path under which another process of ours can open the file.
pub(super) fn path_of(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// Pipes to and from the plugin. Each end is open here, so that its path exists and neither side
/// sees the other one closed too early.
#[derive(Debug)]
pub(super) struct RegionEnd {
    said: PipeReader,
    say: PipeWriter,
    go_on: PipeReader,
    let_go_on: PipeWriter,
}

/// A thread that reads the memory at each end.
pub(super) struct Watch<'scope> {
    thread: ScopedJoinHandle<'scope, ()>,
    /// Closing it ends the thread once the emulator is gone.
    say: PipeWriter,
}

impl RegionEnd {
    /// Fails if the pipes cannot be created.
    pub(super) fn new() -> io::Result<Self> {
        let ((said, say), (go_on, let_go_on)) = (io::pipe()?, io::pipe()?);
        Ok(RegionEnd { said, say, go_on, let_go_on })
    }

    /// The plugin's options.
    pub(super) fn options(&self) -> [(String, String); 2] {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        [("say_end".to_owned(), text(path_of(&self.say))), ("go_on".to_owned(), text(path_of(&self.go_on)))]
    }

    /// Calls `at_end` at each end, on a thread of its own.
    pub(super) fn watch<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        memory: &'scope GuestMemory,
        at_end: &'scope AtEnd<'_>,
    ) -> Watch<'scope> {
        let RegionEnd { mut said, say, go_on, mut let_go_on } = self;
        let thread = scope.spawn(move || {
            let _open_for_the_plugin = go_on;
            // No further ends: all writers are gone.
            while let Ok(page_table) = message(&mut said) {
                at_end(&Still { memory, page_table });
                if let_go_on.write_all(&[0]).is_err() {
                    return;
                }
            }
        });
        Watch { thread, say }
    }
}

/// The memory of a halted guest.
struct Still<'a> {
    memory: &'a GuestMemory,
    page_table: Option<u64>,
}

impl PhysicalMemory for Still<'_> {
    fn end(&self) -> u64 {
        self.memory.end()
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.memory.read(address, bytes)
    }

    fn page_table(&self) -> Option<u64> {
        self.page_table
    }
}

/// The plugin's message.
fn message(said: &mut impl Read) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    said.read_exact(&mut bytes)?;
    Ok(Some(u64::from_le_bytes(bytes)).filter(|&address| address != 0))
}

impl Watch<'_> {
    /// Called when the emulator is gone. Returns when the memory is no longer read.
    pub(super) fn end(self) {
        drop(self.say);
        // If the callback panicked, its data is missing; the counts are not affected.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::machine::MachineShape;
    use std::fs::File;
    use std::sync::atomic::{AtomicU32, Ordering};

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

    #[test]
    fn who_says_the_end_waits_until_it_was_seen() {
        let memory = GuestMemory::new(MachineShape::new(1, 1, None).unwrap(), &std::env::temp_dir()).unwrap();
        let seen = AtomicU32::new(0);
        let end = RegionEnd::new().unwrap();
        let [(_, say), (_, go_on)] = end.options();
        let said = 0x1000_u64.to_le_bytes();
        let at_end = |memory: &dyn PhysicalMemory| {
            assert_eq!(memory.page_table(), Some(0x1000));
            seen.fetch_add(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            let watch = end.watch(scope, &memory, &at_end);
            for round in 1..=2 {
                File::options().write(true).open(&say).unwrap().write_all(&said).unwrap();
                File::open(&go_on).unwrap().read_exact(&mut [0]).unwrap();
                assert_eq!(seen.load(Ordering::SeqCst), round);
            }
            watch.end();
        });
    }
}
