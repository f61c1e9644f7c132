//! The end of the counted part: the plugin says so over a pipe and waits, with the whole guest, until we have looked at the
//! guest's memory. Its message is the physical address of the topmost page table of the CPU that ended it, or 0.

use super::memory::{GuestMemory, path_of};
use crate::counting::AtEnd;
use faultline_model::lens::memory::PhysicalMemory;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::PathBuf;
use std::thread::{Scope, ScopedJoinHandle};

/// Pipes to and from the plugin. Each end is open here, so that its path exists and no end sees the other one closed too early.
#[derive(Debug)]
pub(super) struct RegionEnd {
    said: PipeReader,
    say: PipeWriter,
    go_on: PipeReader,
    let_go_on: PipeWriter,
}

/// A thread that looks at the memory at each end.
pub(super) struct Watch<'scope> {
    thread: ScopedJoinHandle<'scope, ()>,
    /// Closing it ends the thread once the emulator is gone.
    say: PipeWriter,
}

impl RegionEnd {
    /// Fails if there can be no pipes.
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
            // No more ends: all writers are gone.
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

/// The memory of a guest that stands still.
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
    /// Called when the emulator is gone. Returns when nobody looks at the memory any more.
    pub(super) fn end(self) {
        drop(self.say);
        // If looking panicked there is nothing to see; what was counted is not touched by that.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::machine::MachineShape;
    use std::fs::File;
    use std::sync::atomic::{AtomicU32, Ordering};

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
