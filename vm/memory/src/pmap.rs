//! What the memory system asks of a machine's page tables: a set for each space, or for each CPU of a space.

use crate::address::{Rights, VirtualPage};
use crate::error::NoMemory;
use faultline_numbers::FrameNumber;

/// An entry of a page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Translation {
    /// The frame.
    pub frame: FrameNumber,
    /// What the hardware allows.
    pub rights: Rights,
    /// Whether a CPU used it.
    pub accessed: bool,
    /// Whether a CPU wrote through it.
    pub dirty: bool,
}

/// Page tables of a space, on all CPUs or on one ([`Machine::has_tables_of_each_cpu`](crate::Machine::has_tables_of_each_cpu)). CPUs read
/// them, and set their accessed and dirty bits, at any time.
///
/// Calls on different pages may come at the same time; calls on one page do not, because the memory system holds the page's
/// slot. It calls within [`Machine::pin`](crate::Machine::pin). Page tables of one CPU are also called by others, one at a time: there not the
/// pin, which keeps the caller alone from answering, but this order keeps tables alive on the way.
///
/// A *large entry* translates [`LARGE_PAGES`](Self::LARGE_PAGES) pages to frames that follow each other. It is made, removed and protected
/// while the slots of all its pages are held; it may be divided and harvested for several of its pages at the same time. Before any other
/// call but `query` on one of its pages it is divided. So whoever makes one puts aside what dividing it takes.
///
/// # Safety
/// 1. A page translates to what the last `enter` said, or the last `enter_large` by its place in the range, with no more rights than `enter`,
///    `protect` and `protect_large` left, and to nothing after `remove` or `remove_large`. `divide` changes nothing of that.
/// 2. A table without entries may be taken out, but its memory stays a table until `free` is called with what it was put into:
///    CPUs may be reading it.
pub unsafe trait Pmap: Sized {
    /// Tables that were taken out. Dropping it without `free` must be sound; it may leak.
    type Retired: Default;

    /// Pages of a large entry, a power of two: 512 on x86-64. 1: there are no large entries. It must be 1 if a TLB may not hold a large and a small
    /// translation of one page at the same time: a large entry is divided without a shoot-down.
    const LARGE_PAGES: u64 = 1;

    /// Makes an entry, or adds rights to one of the same frame. Fails if there is no memory for a table; then there is no entry.
    fn enter(
        &self,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut Self::Retired,
    ) -> Result<(), NoMemory>;

    /// Removes an entry, and tables that have none left. Returns what it was.
    fn remove(&self, page: VirtualPage, retired: &mut Self::Retired) -> Option<Translation>;

    /// Leaves no rights but these to an entry. Returns what it was.
    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation>;

    /// The entry.
    fn query(&self, page: VirtualPage) -> Option<Translation>;

    /// The entry, whose accessed and dirty bits are cleared. A CPU whose TLB has the entry may set them no more until it is
    /// shot down.
    fn harvest(&self, page: VirtualPage) -> Option<Translation>;

    /// Makes a large entry, of pages from `first` on that have no entries, to frames from `frame` on. Both are multiples of `LARGE_PAGES`.
    /// Fails if there is no memory for it, or for what dividing it takes; then there is no entry.
    fn enter_large(
        &self,
        first: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut Self::Retired,
    ) -> Result<(), NoMemory> {
        let _ = (first, frame, rights, retired);
        Err(NoMemory)
    }

    /// Divides the large entry that a page is in, if it is in one: into entries that say the same of each page. Says whether it did. When it
    /// returns, the page is in no large entry. TLBs may go on with the large translation: it says the same.
    fn divide(&self, page: VirtualPage) -> bool {
        let _ = page;
        false
    }

    /// Removes the large entry that begins at `first`, if there is one, and tables that have no entry left. Returns what it was.
    fn remove_large(&self, first: VirtualPage, retired: &mut Self::Retired) -> Option<Translation> {
        let _ = (first, retired);
        None
    }

    /// Leaves no rights but these to the large entry that begins at `first`, if there is one. Returns what it was.
    fn protect_large(&self, first: VirtualPage, rights: Rights) -> Option<Translation> {
        let _ = (first, rights);
        None
    }

    /// The large entry that a page is in, if it is in one, as an entry of this page; accessed and dirty bits of all of it are cleared, as by
    /// `harvest`.
    fn harvest_large(&self, page: VirtualPage) -> Option<Translation> {
        let _ = page;
        None
    }

    /// Whether no table was taken out.
    fn is_empty(retired: &Self::Retired) -> bool;

    /// Frees tables that were taken out before every CPU that translates by them answered a shoot-down. If each CPU has page tables of its own, they
    /// may have been those of another set of the same space.
    fn free(&self, retired: Self::Retired);
}
