//! Frame numbers, and how frames are counted together.

use crate::state::{FRAMES_PER_WORD, WORDS_PER_BLOCK};

/// Bytes of a frame.
pub const FRAME_BYTES: u64 = 4096;

/// Frames of a huge frame, which begins at a multiple of them: 512, together 2 MiB.
pub const HUGE_FRAMES: u64 = (FRAMES_PER_WORD * WORDS_PER_BLOCK) as u64;

/// A frame's physical address divided by [`FRAME_BYTES`]; of a huge frame or a range, the first one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FrameNumber(pub u64);

impl FrameNumber {
    /// The frame that holds a physical address.
    pub const fn containing(address: u64) -> Self {
        Self(address / FRAME_BYTES)
    }

    /// Physical address of its first byte.
    pub const fn address(self) -> u64 {
        self.0.wrapping_mul(FRAME_BYTES)
    }
}

/// A frame, and whether it is known to hold nothing but zeroes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroedFrame {
    /// Which.
    pub number: FrameNumber,
    /// False: whoever got it must zero it.
    pub zeroed: bool,
}

/// What is asked of a contiguous range. All in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeRequest {
    /// Length, at least 1.
    pub frames: u64,
    /// No frame is below it.
    pub low: FrameNumber,
    /// No frame is at it or above.
    pub high: FrameNumber,
    /// The first frame's number is a multiple of it: a power of two.
    pub alignment: u64,
    /// The range crosses no multiple of it: a power of two not below `frames`; or 0, no such limit.
    pub boundary: u64,
}

impl RangeRequest {
    /// That many frames, anywhere.
    pub const fn of(frames: u64) -> Self {
        Self { frames, low: FrameNumber(0), high: FrameNumber(u64::MAX), alignment: 1, boundary: 0 }
    }
}
