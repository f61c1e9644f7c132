//! Numbers of page frames, huge frames, NUMA domains and CPUs, shared by the memory system's
//! crates.
//!
//! Each is a separate type, so that none can be passed for another. They are only numbers: a frame
//! with this number need not exist.

#![no_std]
#![deny(missing_docs)]

use core::fmt::{self, Display};

/// Bytes of a frame.
pub const FRAME_BYTES: u64 = 4096;

/// Number of frames in a huge frame: 512, together 2 MiB.
pub const HUGE_FRAMES: u64 = 512;

/// A frame of 4 KiB: its physical address divided by [`FRAME_BYTES`]. For a range: that of its
/// first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FrameNumber(pub u64);

impl FrameNumber {
    /// The frame that contains a physical address.
    pub const fn containing(address: u64) -> Self {
        Self(address / FRAME_BYTES)
    }

    /// Physical address of its first byte.
    pub const fn address(self) -> u64 {
        self.0.wrapping_mul(FRAME_BYTES)
    }

    /// The huge frame that contains it.
    pub const fn huge(self) -> HugeFrame {
        HugeFrame(self.0 / HUGE_FRAMES)
    }
}

/// A huge frame of 2 MiB: its physical address divided by 2 MiB. Huge frames begin at multiples of
/// 2 MiB, so an unaligned number cannot be expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct HugeFrame(pub u64);

impl HugeFrame {
    /// The huge frame that begins at a frame, if any.
    pub const fn beginning_at(first: FrameNumber) -> Option<Self> {
        if first.0.is_multiple_of(HUGE_FRAMES) { Some(first.huge()) } else { None }
    }

    /// Its first frame.
    pub const fn first(self) -> FrameNumber {
        FrameNumber(self.0.wrapping_mul(HUGE_FRAMES))
    }

    /// Physical address of its first byte.
    pub const fn address(self) -> u64 {
        self.first().address()
    }

    /// Its 512 frames, in order.
    pub fn frames(self) -> impl Iterator<Item = FrameNumber> {
        (0..HUGE_FRAMES).map(move |index| FrameNumber(self.first().0.wrapping_add(index)))
    }
}

/// Length of a run of 2ⁿ frames that begins at a multiple of its length, as n. A frame has order 0,
/// a huge frame 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Order(pub u8);

impl Order {
    /// The order of the shortest run with at least this many frames.
    pub const fn holding(frames: u64) -> Self {
        Self(if frames < 2 { 0 } else { 64 - (frames - 1).leading_zeros() as u8 })
    }

    /// Number of frames. None if it exceeds 64 bits.
    pub const fn frames(self) -> Option<u64> {
        1_u64.checked_shl(self.0 as u32)
    }
}

/// A NUMA domain, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct DomainId(pub u8);

/// A CPU, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CpuNumber(pub u32);

impl Display for FrameNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {}", self.0)
    }
}

impl Display for HugeFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "huge frame {}", self.0)
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {}", self.0)
    }
}

impl Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain {}", self.0)
    }
}

impl Display for CpuNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_numbers_belong_together() {
        let frame = FrameNumber::containing(0x1234_5678);
        assert_eq!((frame, frame.address()), (FrameNumber(0x1_2345), 0x1234_5000));
        assert_eq!((frame.huge(), frame.huge().address()), (HugeFrame(0x91), 0x1220_0000));
        assert_eq!(frame.huge().first(), FrameNumber(0x1_2200));
        assert_eq!(HugeFrame::beginning_at(frame.huge().first()), Some(frame.huge()));
        assert_eq!(HugeFrame::beginning_at(frame), None);
        assert!(frame.huge().frames().all(|each| each.huge() == frame.huge()));
        assert_eq!(frame.huge().frames().count() as u64, HUGE_FRAMES);
    }

    #[test]
    fn an_order_holds_its_frames() {
        assert_eq!([0, 1, 2, 3, 4, 5, 512].map(|frames| Order::holding(frames).0), [0, 0, 1, 2, 2, 3, 9]);
        assert_eq!([Order(0), Order(8), Order(64)].map(Order::frames), [Some(1), Some(256), None]);
        assert_eq!(Order::holding(u64::MAX), Order(64));
    }
}
