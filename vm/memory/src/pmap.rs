//! What the memory system asks of a machine's page tables, one set for each space.

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

/// Page tables of a space. CPUs read them, and set their accessed and dirty bits, at any time.
///
/// Calls on different pages may come at the same time; calls on one page do not, because the memory system holds the page's
/// slot. It calls within [`Machine::pin`](crate::Machine::pin).
///
/// # Safety
/// 1. A page translates to what the last `enter` said, with no more rights than `enter` and `protect` left, and to nothing after
///    `remove`.
/// 2. A table without entries may be taken out, but its memory stays a table until `free` is called with what it was put into:
///    CPUs may be reading it.
pub unsafe trait Pmap: Sized {
    /// Tables that were taken out. Dropping it without `free` must be sound; it may leak.
    type Retired: Default;

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

    /// Whether no table was taken out.
    fn is_empty(retired: &Self::Retired) -> bool;

    /// Frees tables that were taken out before every CPU answered a shoot-down.
    fn free(&self, retired: Self::Retired);
}
