//! The TLB of a hosted CPU: it holds a translation until it is told to forget it, or another takes its place.

use crate::address::{Rights, VirtualPage};
use crate::machine::{Flush, SpaceId};
use faultline_numbers::FrameNumber;

/// Entries. Few, so that some are replaced too; enough for stale ones to be met.
const ENTRIES: usize = 64;

/// A translation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) space: SpaceId,
    pub(super) page: VirtualPage,
    pub(super) frame: FrameNumber,
    pub(super) rights: Rights,
    /// Whether the dirty bit of the page-table entry was set through it. If not, a write walks the tables again.
    pub(super) dirty: bool,
}

/// A TLB.
#[derive(Debug)]
pub(super) struct Tlb([Option<Entry>; ENTRIES]);

impl Tlb {
    pub(super) fn new() -> Self {
        Self([None; ENTRIES])
    }

    fn place(space: SpaceId, page: VirtualPage) -> usize {
        (page.0.wrapping_add(space.0.wrapping_mul(17)) % ENTRIES as u64) as usize
    }

    pub(super) fn find(&self, space: SpaceId, page: VirtualPage) -> Option<Entry> {
        self.0[Self::place(space, page)].filter(|entry| entry.space == space && entry.page == page)
    }

    pub(super) fn keep(&mut self, entry: Entry) {
        self.0[Self::place(entry.space, entry.page)] = Some(entry);
    }

    pub(super) fn forget(&mut self, flush: &Flush) {
        let pages = flush.pages.begin()..flush.pages.end();
        for entry in &mut self.0 {
            if entry.is_some_and(|entry| entry.space == flush.space && pages.contains(&entry.page.0)) {
                *entry = None;
            }
        }
    }

    /// Whether any page translates to a frame.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fn has_frame(&self, frame: FrameNumber) -> bool {
        self.0.iter().flatten().any(|entry| entry.frame == frame)
    }
}
