//! A lock-free stack of tables, linked by their records.

use crate::primitive::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use faultline_numbers::FrameNumber;

/// Bits of a frame number: physical addresses have at most 52.
const FRAME_BITS: u32 = 40;
const FRAME: u64 = (1 << FRAME_BITS) - 1;
/// No table.
pub(crate) const NONE: u64 = FRAME;

/// The places of links.
pub(crate) trait Links {
    /// The link of a table: always in the same place.
    fn next(&self, table: FrameNumber) -> &AtomicU64;
}

/// A stack. Fields: \[a] changed by compare-and-swap. Its upper 24 bits count changes, so that a
/// table that was taken and put back meanwhile is noticed: unless a CPU stops between its load and
/// its next step for exactly a multiple of 2²⁴ changes, with the same table first again. Calls are
/// made with interrupts off, in which time no CPU makes so many.
#[derive(Debug)]
pub(crate) struct Stack(
    /// \[a]
    AtomicU64,
);

impl Default for Stack {
    fn default() -> Self {
        Self(AtomicU64::new(NONE))
    }
}

impl Stack {
    fn changed(old: u64, first: u64) -> u64 {
        (old & !FRAME).wrapping_add(FRAME + 1) | first & FRAME
    }

    pub(crate) fn push<L: Links>(&self, links: &L, table: FrameNumber) {
        // Relaxed: a guess, or only the number is used.
        let mut old = self.0.load(Relaxed);
        loop {
            // Relaxed: the table is ours until the next step.
            links.next(table).store(old & FRAME, Relaxed);
            // AcqRel: releases the record and the table's contents.
            match self.0.compare_exchange(old, Self::changed(old, table.0), AcqRel, Relaxed) {
                Ok(_) => return,
                Err(found) => old = found,
            }
        }
    }

    pub(crate) fn pop<L: Links>(&self, links: &L) -> Option<FrameNumber> {
        // Acquire: pairs with the release in `push`: the record.
        let mut old = self.0.load(Acquire);
        while old & FRAME != NONE {
            let table = FrameNumber(old & FRAME);
            // Relaxed: if another CPU took the table, this is a guess, and the next step fails.
            let next = links.next(table).load(Relaxed);
            // AcqRel, Acquire: as above.
            match self.0.compare_exchange(old, Self::changed(old, next), AcqRel, Acquire) {
                Ok(_) => return Some(table),
                Err(found) => old = found,
            }
        }
        None
    }
}
