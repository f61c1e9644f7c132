//! A store of pages in memory, for the hosted machine's pagers; and a machine that swaps to one.

use crate::host::{BOTH_TABLES, HostCpu, Tables, on_machine};
use faultline_memory::hosted::FrameBytes;
use faultline_memory::{FrameNumber, Pager, Started, Transfer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Runs `run` with the CPUs of a machine whose swap area has room for everything: once with shared
/// page tables, and once with page tables per CPU.
pub fn on_swapping_machine(cpus: u32, frames: u64, frame_bytes: usize, mut run: impl FnMut(&[HostCpu<'_, '_>])) {
    BOTH_TABLES.into_iter().for_each(|tables| on_swapping_machine_with(tables, cpus, frames, frame_bytes, &mut run));
}

/// Like `on_swapping_machine`, with one kind of page tables.
pub fn on_swapping_machine_with(
    tables: Tables,
    cpus: u32,
    frames: u64,
    frame_bytes: usize,
    run: impl FnOnce(&[HostCpu<'_, '_>]),
) {
    on_machine(tables, cpus, frames, frame_bytes, |bytes| Arc::new(Store::new(bytes, |_| 0)), |cpus, _| run(&cpus));
}

/// Contents of a page that was never written.
pub type Pattern = fn(u64) -> u8;

#[derive(Debug)]
pub struct Store {
    bytes: FrameBytes,
    pattern: Pattern,
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    written: BTreeMap<u64, Vec<u8>>,
    /// From this page on the pattern is zeroes: the store was truncated there once.
    kept: u64,
}

impl Store {
    pub fn new(bytes: FrameBytes, pattern: Pattern) -> Self {
        Self { bytes, pattern, contents: Mutex::new(Contents { written: BTreeMap::new(), kept: u64::MAX }) }
    }

    pub fn page(&self, index: u64) -> Vec<u8> {
        let contents = self.contents.lock().unwrap();
        let byte = if index < contents.kept { (self.pattern)(index) } else { 0 };
        contents.written.get(&index).cloned().unwrap_or_else(|| vec![byte; self.bytes.frame_bytes()])
    }

    pub fn truncate(&self, pages: u64) {
        let mut contents = self.contents.lock().unwrap();
        contents.written.retain(|index, _| *index < pages);
        contents.kept = contents.kept.min(pages);
    }
}

impl Pager for Store {
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        (first..).zip(frames).for_each(|(index, frame)| self.bytes.write(*frame, &self.page(index)));
        Started::Done(transfer, frames.len())
    }

    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started {
        for (index, frame) in (first..).zip(frames) {
            let mut page = vec![0; self.bytes.frame_bytes()];
            self.bytes.read(*frame, &mut page);
            self.contents.lock().unwrap().written.insert(index, page);
        }
        Started::Done(transfer, frames.len())
    }
}
