//! Broken invariants, reported to the embedder in every build.

use crate::page_word::{PageState, PageStep};
use core::fmt::{self, Display};
use faultline_numbers::FrameNumber;

/// A broken invariant: a mistake of this crate or of the embedder, or memory that has gone bad. The
/// call that found it leaves the step out, and goes on: it leaks rather than frees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// The state of a page refuses a step that its holder or owner makes.
    Step {
        /// The index of the page's frame.
        page: u32,
        /// The step.
        step: PageStep,
        /// The state that refuses it.
        state: PageState,
    },
    /// The source gave a frame whose page has owners. The frame is not used.
    GivenTwice {
        /// The frame's index.
        page: u32,
        /// The state of its page.
        state: PageState,
    },
    /// The source gave a frame without an index below the memory's number of frames. The frame is
    /// not used.
    NoIndex(FrameNumber),
    /// The source has no frame with this index, which it gave, or the index has no record.
    NoFrame(u32),
    /// The source refused a frame that it gave.
    Refused(FrameNumber),
    /// A slot of the swap area has no owner to release, or does not exist.
    SwapSlot(u32),
    /// A busy page is not in its place in its object.
    Place(u32),
    /// A page to be written to a pager has none.
    NoPager(u32),
    /// A transfer of another memory was ended here.
    OtherMemory,
    /// An object has lost its last owner too early.
    ObjectOwner,
}

impl Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { page, step, state } => write!(f, "page {page} refuses {step:?}: {state:?}"),
            Self::GivenTwice { page, state } => write!(f, "frame {page} was given out, but has owners: {state:?}"),
            Self::NoIndex(frame) => write!(f, "{frame} was given out, but has no index"),
            Self::NoFrame(page) => write!(f, "there is no frame with index {page}"),
            Self::Refused(frame) => write!(f, "{frame} was not taken back"),
            Self::SwapSlot(slot) => write!(f, "swap slot {slot} has no owner"),
            Self::Place(page) => write!(f, "busy page {page} is not in its place"),
            Self::NoPager(page) => write!(f, "page {page} has no pager"),
            Self::OtherMemory => f.write_str("a transfer of another memory was ended"),
            Self::ObjectOwner => f.write_str("an object lost its last owner too early"),
        }
    }
}
