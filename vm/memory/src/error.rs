//! Errors, as values. A call that fails changes nothing that its caller can see.

use core::error::Error;
use core::fmt::{self, Display};

/// There is no memory: no frame, or none for a table of this crate's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory;

impl Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

impl Error for NoMemory {}

/// Why a change of an address space failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpaceError {
    /// There is no memory for nodes of the tree.
    NoMemory,
    /// The range is empty, ends before it begins, or ends beyond the last page.
    BadRange,
    /// A page of the range is not mapped.
    NotMapped,
    /// There is no room for the range where it is wanted.
    NoAddress,
    /// The range goes beyond the object's end.
    BeyondObject,
    /// The space is not active on the calling CPU.
    NotActive,
    /// The space is still active on a CPU.
    Active,
    /// The object or space belongs to another memory.
    OtherMemory,
    /// Frames of a device cannot be mapped privately, nor cut off.
    Device,
    /// A pager is reading or writing the contents of a page. When [`Machine::wake`](crate::Machine::wake) is called for this frame's
    /// index, the call may be made again, and goes on.
    Wait(u32),
    /// A pager could not read contents.
    NotRead,
    /// A pager could not write contents. They are still in memory.
    Failed,
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
            Self::BadRange => "the range of pages is empty or ends beyond the last page",
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
        })
    }
}

impl Error for SpaceError {}

/// Why a fault could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultError {
    /// Nothing is mapped at the page: a POSIX system sends `SIGSEGV` with `SEGV_MAPERR`.
    NotMapped,
    /// The mapping does not allow the access: `SIGSEGV` with `SEGV_ACCERR`.
    NotAllowed,
    /// The page is a guard: `SIGSEGV`. See [`Cpu::guard`](crate::Cpu::guard).
    Guarded,
    /// There is no frame, or no memory for a table. The access may be tried again when there is.
    NoMemory,
    /// The space is not active on the calling CPU.
    NotActive,
    /// The page lies beyond the end of its object: `SIGBUS`.
    BeyondObject,
    /// The contents could not be read: `SIGBUS`. The next fault tries again.
    Failed,
    /// A pager is reading or writing the contents. When [`Machine::wake`](crate::Machine::wake) is called for this frame's index, the access
    /// may be tried again.
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
