//! Errors, as values. A refused frame or request changes nothing.

use core::error::Error;
use core::fmt::{self, Display};
use faultline_numbers::FrameNumber;

/// Reason why a get failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetError {
    /// No suitable frames in all of memory, even after draining the caches.
    Exhausted,
    /// No suitable frames in the index. Other CPUs' caches or reserved blocks may have some: the
    /// calls without `try_` search there.
    NotAtHand,
    /// The frames below the min watermark are reserved for
    /// [`Urgency::Reserve`](crate::Urgency::Reserve).
    AtMinimum,
    /// Invalid request: no frames, or an alignment or boundary that is not a power of two or too
    /// small.
    BadRequest,
    /// The CPU's number is not in the configuration.
    NoSuchCpu,
}

impl Display for GetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "no suitable frames are free",
            Self::NotAtHand => "no suitable frames are at hand; others may be in caches",
            Self::AtMinimum => "the remaining frames are reserved for urgent callers",
            Self::BadRequest => {
                "invalid range: no frames, or an alignment or boundary that is too small or not a power of two"
            }
            Self::NoSuchCpu => "the CPU's number is not in the configuration",
        })
    }
}

impl Error for GetError {}

/// Reason why a frame was not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutError {
    /// Beyond all memory of the configuration.
    OutOfRange,
    /// In a hole between memory areas, or never handed to the allocator.
    Absent,
    /// Not allocated: it was put before.
    AlreadyFree,
    /// Got as part of a huge frame and put as a single one, or the other way round.
    WrongOrder,
    /// The CPU's number is not in the configuration.
    NoSuchCpu,
}

impl Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => "the frame is beyond the end of memory",
            Self::Absent => "the frame is in a hole",
            Self::AlreadyFree => "the frame is already free",
            Self::WrongOrder => "the frame was allocated with another size",
            Self::NoSuchCpu => "the CPU's number is not in the configuration",
        })
    }
}

impl Error for PutError {}

/// The refused frames of a batch or range; all others were taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchError {
    /// Number of refused frames.
    pub refused: u64,
    /// The first refused frame.
    pub frame: FrameNumber,
    /// Reason for the first refusal.
    pub error: PutError,
}

impl Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames refused; the first is frame {}: {}", self.refused, self.frame.0, self.error)
    }
}

impl Error for BatchError {}

/// The refusals so far.
#[derive(Debug, Default)]
pub(crate) struct Refused(Option<BatchError>);

impl Refused {
    pub(crate) fn add(&mut self, count: u64, frame: FrameNumber, error: PutError) {
        self.0.get_or_insert(BatchError { refused: 0, frame, error }).refused += count;
    }

    /// Number of refusals so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.map_or(0, |error| error.refused)
    }

    pub(crate) fn result(self) -> Result<(), BatchError> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Reason why a configuration is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No memory area, or one without frames.
    NoMemory,
    /// Two memory areas share a frame; the index of the later one. Offline areas come behind the
    /// others.
    Overlap(usize),
    /// A frame's address has more than 64 bits.
    NoAddress,
    /// More than 2³² - 1024 frames (16 TiB), including holes of up to 32 GiB, and a block for each
    /// larger one.
    TooMuchMemory,
    /// No CPU, or more than [`MOST_CPUS`](crate::MOST_CPUS).
    Cpus,
    /// A domain's number is not below [`MOST_DOMAINS`](crate::MOST_DOMAINS).
    Domains,
    /// The distances do not cover every pair of domains.
    Distances,
    /// A stock of more than [`MOST_STOCK`](crate::MOST_STOCK) magazines.
    Stock,
    /// A domain's min watermark is above its low watermark.
    Marks,
    /// The memory for metadata is smaller than the layout requires, after alignment.
    MetadataTooSmall,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("no memory area, or one without frames"),
            Self::Overlap(index) => write!(f, "memory area {index} overlaps an earlier one"),
            Self::NoAddress => f.write_str("a frame's address has more than 64 bits"),
            Self::TooMuchMemory => f.write_str("more than 16 TiB of memory, including holes of up to 32 GiB"),
            Self::Cpus => f.write_str("no CPU, or too many"),
            Self::Domains => f.write_str("a domain's number is too large"),
            Self::Distances => f.write_str("the distances do not cover every pair of domains"),
            Self::Stock => f.write_str("a stock of too many magazines"),
            Self::Marks => f.write_str("the min watermark is above the low watermark"),
            Self::MetadataTooSmall => f.write_str("the memory for metadata is smaller than the layout requires"),
        }
    }
}

impl Error for ConfigError {}
