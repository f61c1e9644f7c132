//! Errors. A failed call changes nothing that its caller can see.

use core::error::Error;
use core::fmt::{self, Display};

/// Out of memory: no frame, or no memory for one of this crate's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory;

impl Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

impl Error for NoMemory {}

/// Error of a change of an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpaceError {
    /// Out of memory for nodes of the tree.
    NoMemory,
    /// The range is empty, or not within the limits of the space.
    BadRange,
    /// A page of the range is not mapped.
    NotMapped,
    /// No suitable unmapped range is left.
    NoAddress,
    /// The range goes beyond the object's end.
    BeyondObject,
    /// The space is not active on the calling CPU.
    NotActive,
    /// The space is still active on a CPU.
    Active,
    /// The object or space belongs to another memory.
    OtherMemory,
    /// Device frames cannot be mapped privately or truncated.
    Device,
    /// A pager is transferring a page. When [`Machine::wake`](crate::Machine::wake) is called for
    /// this frame's index, call again to continue.
    Wait(u32),
    /// A pager could not read contents.
    NotRead,
    /// A pager could not write contents. They are still in memory.
    Failed,
    /// More than [`MOST_CPUS`](crate::MOST_CPUS) CPUs.
    TooManyCpus,
}

impl From<NoMemory> for SpaceError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "out of memory",
            Self::BadRange => "the range of pages is empty, or not within the limits of the space",
            Self::NotMapped => "a page of the range is not mapped",
            Self::NoAddress => "there is no room for the range",
            Self::BeyondObject => "the range goes beyond the end of the object",
            Self::NotActive => "the space is not active on this CPU",
            Self::Active => "the space is still active on a CPU",
            Self::OtherMemory => "the object or space belongs to another memory",
            Self::Device => "frames of a device cannot be mapped privately, nor cut off",
            Self::Wait(_) => "the contents of a page are being transferred",
            Self::NotRead => "the contents of a page could not be read",
            Self::Failed => "the contents of a page could not be written",
            Self::TooManyCpus => "there are more CPUs than a memory can have",
        })
    }
}

impl Error for SpaceError {}

/// Error of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultError {
    /// Nothing is mapped at the page: POSIX systems send `SIGSEGV` with `SEGV_MAPERR`.
    NotMapped,
    /// The mapping does not allow the access: `SIGSEGV` with `SEGV_ACCERR`.
    NotAllowed,
    /// The page is a guard: `SIGSEGV`. See [`Cpu::guard`](crate::Cpu::guard).
    Guarded,
    /// Out of frames, or of memory for a table. Retry the access when there is memory.
    NoMemory,
    /// The space is not active on the calling CPU.
    NotActive,
    /// The page lies beyond the end of its object: `SIGBUS`.
    BeyondObject,
    /// The contents could not be read: `SIGBUS`. The next fault tries again.
    Failed,
    /// A pager is transferring the page. When [`Machine::wake`](crate::Machine::wake) is called for
    /// this frame's index, retry the access.
    Wait(u32),
}

impl From<NoMemory> for FaultError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotMapped => "nothing is mapped at this page",
            Self::NotAllowed => "the mapping does not allow this access",
            Self::Guarded => "the page is a guard",
            Self::NoMemory => "out of memory",
            Self::NotActive => "the space is not active on this CPU",
            Self::BeyondObject => "the page lies beyond the end of its object",
            Self::Failed => "the contents of the page could not be read",
            Self::Wait(_) => "the contents of the page are being transferred",
        })
    }
}

impl Error for FaultError {}
