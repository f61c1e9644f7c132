//! Errors, which are values: none of them has changed anything.

use crate::frame::FrameNumber;
use core::error::Error;
use core::fmt::{self, Display};

/// Why no frame was got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetError {
    /// A look at all memory found nothing fit, and what caches held was drained before.
    Exhausted,
    /// What is left below the min mark is for [`Urgency::Reserve`](crate::Urgency::Reserve) alone.
    AtMinimum,
    /// The request is not one: no frames, or an alignment or boundary that is no power of two or too small.
    BadRequest,
    /// The CPU's number is not one of the configuration.
    NoSuchCpu,
}

impl Display for GetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "no such frames are free",
            Self::AtMinimum => "the frames left are kept for urgent callers",
            Self::BadRequest => {
                "not a range: no frames, or an alignment or boundary that is no power of two or too small"
            }
            Self::NoSuchCpu => "the CPU's number is not one of the configuration",
        })
    }
}

impl Error for GetError {}

/// Why a frame was not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutError {
    /// Its number is beyond all memory of the configuration.
    OutOfRange,
    /// It lies in a hole between memory areas, or was never handed to the allocator.
    Absent,
    /// Nobody has it: it was put before.
    AlreadyFree,
    /// It was got as part of a huge frame and is put alone, or the other way round.
    WrongOrder,
    /// A huge frame begins at a multiple of [`HUGE_FRAMES`](crate::HUGE_FRAMES).
    Misaligned,
    /// The CPU's number is not one of the configuration.
    NoSuchCpu,
}

impl Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => "the frame is beyond all memory",
            Self::Absent => "the frame lies in a hole",
            Self::AlreadyFree => "the frame is free already",
            Self::WrongOrder => "the frame was got in another size",
            Self::Misaligned => "no huge frame begins there",
            Self::NoSuchCpu => "the CPU's number is not one of the configuration",
        })
    }
}

impl Error for PutError {}

/// Frames of a batch or range that were not taken back; all others were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchError {
    /// How many were refused.
    pub refused: u64,
    /// The first that was found.
    pub frame: FrameNumber,
    /// Why.
    pub error: PutError,
}

impl Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames refused; of frame {}: {}", self.refused, self.frame.0, self.error)
    }
}

impl Error for BatchError {}

/// Why a configuration can't be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No memory area, or one without frames.
    NoMemory,
    /// Two memory areas share a frame; the index of the later one.
    Overlap(usize),
    /// A frame's address has more than 64 bits.
    NoAddress,
    /// From the lowest frame to the highest it is more than 2³² - 1024 frames (16 TiB).
    TooFarApart,
    /// No CPU, or more than [`MOST_CPUS`](crate::MOST_CPUS).
    Cpus,
    /// A domain's number is not below [`MOST_DOMAINS`](crate::MOST_DOMAINS).
    Domains,
    /// The policy's min mark is above its low mark.
    Marks,
    /// The memory for metadata is shorter than the layout says, once aligned.
    MetadataTooSmall,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("no memory area, or one without frames"),
            Self::Overlap(index) => write!(f, "memory area {index} shares a frame with one before it"),
            Self::NoAddress => f.write_str("a frame's address has more than 64 bits"),
            Self::TooFarApart => f.write_str("more than 16 TiB from the lowest frame to the highest"),
            Self::Cpus => f.write_str("no CPU, or too many"),
            Self::Domains => f.write_str("a domain's number is too large"),
            Self::Marks => f.write_str("the min mark is above the low mark"),
            Self::MetadataTooSmall => f.write_str("the memory for metadata is shorter than its layout"),
        }
    }
}

impl Error for ConfigError {}
