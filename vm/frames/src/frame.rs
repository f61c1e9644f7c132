//! Offsets of frames and blocks, and types for frames that belong together.

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

/// A block of 512 frames: the offset of its first frame, divided by that.
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

/// Number of frames of a block: those of a huge frame, except that loom's tests have smaller blocks.
pub(crate) const BLOCK_FRAMES: u64 = FRAMES_PER_BLOCK as u64;

#[cfg(not(all(loom, test)))]
const _: () = assert!(BLOCK_FRAMES == faultline_numbers::HUGE_FRAMES);

/// A frame, and whether it is known to hold nothing but zeroes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroedFrame {
    /// The frame.
    pub number: FrameNumber,
    /// If false, the caller must zero it.
    pub zeroed: bool,
}

/// The requirements for a contiguous range. All in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeRequest {
    /// Length, at least 1.
    pub frames: u64,
    /// Low bound: the range has no frame below it.
    pub low: FrameNumber,
    /// High bound: the range has no frame at it or above.
    pub high: FrameNumber,
    /// The first frame's number is a multiple of this power of two.
    pub alignment: u64,
    /// The range crosses no multiple of this power of two, which is at least `frames`. 0: no such limit.
    pub boundary: u64,
}

impl RangeRequest {
    /// `frames` frames, anywhere.
    pub const fn of(frames: u64) -> Self {
        Self { frames, low: FrameNumber(0), high: FrameNumber(u64::MAX), alignment: 1, boundary: 0 }
    }
}
