//! Pagers and transfers: moving contents in and out.

use crate::counted::Counted;
use crate::family::Family;
use crate::object::Object;
use core::fmt::Debug;
use faultline_numbers::FrameNumber;

/// Maximum number of pages of a transfer.
pub const CLUSTER: usize = 16;

/// A store of pages: a file, a block device, a swap area. A failed transfer is reported when it
/// ends, so a pager has no error type.
///
/// Calls come from faults and from the page daemon, with no slot locked and no CPU pinned. A pager
/// must not take frames from the memory that it serves.
pub trait Pager: Debug + Send + Sync {
    /// Starts reading pages from `first` on, one into each frame. Pages beyond the store's end read
    /// as zeroes.
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started;

    /// Starts writing pages from `first` on, one from each frame.
    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started;
}

/// State of a transfer that a pager has started.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there may be no memory for a box, and it is handed on at once")]
pub enum Started {
    /// Already over: this many pages, from the first on, were transferred; the others failed.
    Done(Transfer, usize),
    /// In progress: the pager keeps the transfer. When it ends, call
    /// [`Cpu::finish`](crate::Cpu::finish).
    Later,
}

/// Fate of a page after it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Keep,
    /// Its frame is freed.
    Reclaim,
}

/// An owner of a busy page.
#[derive(Debug)]
pub(crate) enum HeldHome {
    Object(Counted<Object>),
    Family(Counted<Family>),
}

/// A busy page, and an owner of it.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) page: u32,
    pub(crate) home: HeldHome,
    /// The place in the home.
    pub(crate) place: u64,
}

/// The pages of a transfer.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "as for `Started`")]
pub(crate) enum Pages {
    /// Pages being read, and their number. Ownership does not matter at the end: the frame of a
    /// page without an owner is freed.
    Read([u32; CLUSTER], usize),
    /// Pages being written: from the front, without a gap.
    Written([Option<Hold>; CLUSTER], Then),
}

/// A transfer that a pager has started. Must end by [`Cpu::finish`](crate::Cpu::finish): if
/// dropped, its pages stay busy for ever.
#[derive(Debug)]
#[must_use]
pub struct Transfer {
    pub(crate) pages: Pages,
    /// The first slot of the swap area, if the pages go there.
    pub(crate) swap: Option<u32>,
    /// The memory of the pages.
    pub(crate) memory: usize,
}
