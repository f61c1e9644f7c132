//! Offsets of frames and blocks; requests for ranges, and zeroed frames.

use faultline_numbers::FrameNumber;

/// Number of frames in a word.
pub(crate) const FRAMES_PER_WORD: u32 = 32;
/// Number of words of a block: two cache lines, which many CPUs fetch as a pair.
#[cfg(not(all(loom, test)))]
pub(crate) const WORDS_PER_BLOCK: u32 = 16;
/// Small, so that all interleavings can be explored.
#[cfg(all(loom, test))]
pub(crate) const WORDS_PER_BLOCK: u32 = 2;
/// Number of frames of a block. A huge frame is a whole block.
pub(crate) const FRAMES_PER_BLOCK: u32 = FRAMES_PER_WORD * WORDS_PER_BLOCK;

/// A frame's offset: see `spans`.
pub(crate) type Offset = u32;

/// A block of 512 frames: the offset of its first frame divided by 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block(pub(crate) u32);

impl Block {
    /// The block that a frame is in.
    #[inline(always)]
    pub(crate) fn of(offset: Offset) -> Self {
        Self(offset / FRAMES_PER_BLOCK)
    }

    /// Its first frame.
    pub(crate) fn first(self) -> Offset {
        self.0 * FRAMES_PER_BLOCK
    }
}

/// Number of frames of a block: a huge frame's, except in loom's tests, which have smaller blocks.
pub(crate) const BLOCK_FRAMES: u64 = FRAMES_PER_BLOCK as u64;

#[cfg(not(all(loom, test)))]
const _: () = assert!(BLOCK_FRAMES == faultline_numbers::HUGE_FRAMES);

/// A frame that may be known to be zeroed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroedFrame {
    /// The frame.
    pub number: FrameNumber,
    /// If false, the caller must zero it.
    pub zeroed: bool,
}

/// The requirements for a contiguous range, in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeRequest {
    /// Length, at least 1.
    pub frames: u64,
    /// Low bound: the first frame is not below it.
    pub low: FrameNumber,
    /// High bound: all frames are below it.
    pub high: FrameNumber,
    /// A power of two. The first frame's number is a multiple of it.
    pub alignment: u64,
    /// A power of two, at least `frames`. The range crosses no multiple of it. 0: no limit.
    pub boundary: u64,
}

impl RangeRequest {
    /// `frames` frames, anywhere.
    pub const fn of(frames: u64) -> Self {
        Self { frames, low: FrameNumber(0), high: FrameNumber(u64::MAX), alignment: 1, boundary: 0 }
    }
}
