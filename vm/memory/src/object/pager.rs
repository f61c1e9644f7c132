//! Where contents go and come from: pagers, and the transfers that they make.

use crate::counted::Counted;
use crate::family::Family;
use crate::object::Object;
use core::fmt::Debug;
use faultline_numbers::FrameNumber;

/// Maximum number of pages of a transfer.
pub const CLUSTER: usize = 16;

/// A store of pages: a file, a block device, a swap area. A failed transfer is reported by who ends it, so a pager has no error of its own.
///
/// Its calls come from faults and from the page daemon, with no slot locked and no CPU pinned. They must not take frames from the
/// memory that they serve.
pub trait Pager: Debug + Send + Sync {
    /// Begins to read pages from `first` on, one into each frame. What lies beyond the store's end reads as zeroes.
    fn read(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started;

    /// Begins to write pages from `first` on, one from each frame.
    fn write(&self, first: u64, frames: &[FrameNumber], transfer: Transfer) -> Started;
}

/// What a pager has begun.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there may be no memory for a box, and it is handed on at once")]
pub enum Started {
    /// It is over already; so many pages, from the first on, were transferred. Those after them failed.
    Done(Transfer, usize),
    /// The pager keeps the transfer, and whoever learns of its end calls [`Cpu::finish`](crate::Cpu::finish).
    Later,
}

/// What becomes of a page that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It stays.
    Keep,
    /// Its frame goes back.
    Reclaim,
}

/// Whose page it is that somebody has busy: an owner of it.
#[derive(Debug)]
pub(crate) enum HeldHome {
    Object(Counted<Object>),
    Family(Counted<Family>),
}

/// A page that somebody has busy, and owns.
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
    /// Pages that are read, and how many. Whose they are does not matter to the end: if nobody owns one any more, its frame goes back.
    Read([u32; CLUSTER], usize),
    /// Pages that are written: those from the front, without a gap.
    Written([Option<Hold>; CLUSTER], Then),
}

/// A transfer that a pager has begun. It must end by [`Cpu::finish`](crate::Cpu::finish): dropped, its pages stay busy for ever.
#[derive(Debug)]
#[must_use]
pub struct Transfer {
    pub(crate) pages: Pages,
    /// The first slot of the swap area, if that is where they go.
    pub(crate) swap: Option<u32>,
    /// Of which memory they are.
    pub(crate) memory: usize,
}
