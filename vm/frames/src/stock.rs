//! Further magazines of a CPU, full or empty. Any CPU may empty a full one without stopping the CPU that owns it.
//!
//! The state of a magazine is its lock. The CPU that sets it to busy holds the magazine. Nobody waits for a busy
//! magazine; it is skipped.

use crate::config::MOST_STOCK;
use crate::frame::Offset;
use crate::primitive::{AtomicU8, AtomicU32};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Frames of a magazine: as many as one step on a state word can move. It is large enough that only one operation in 32
/// reaches the range layer. It is small enough that a CPU keeps only 128 KiB after a drain.
#[cfg(not(all(loom, test)))]
pub(crate) const MAGAZINE: usize = 32;
/// Small, so that all interleavings can be explored.
#[cfg(all(loom, test))]
pub(crate) const MAGAZINE: usize = 2;

/// Number of places.
pub(crate) const STOCK_MOST: usize = MOST_STOCK as usize;

const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FULL: u8 = 2;

/// Fields: \[s] changed by compare-and-swap from empty or full to busy, then by the CPU that did so; \[b] by the CPU
/// that set the state to busy.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Stock {
    /// \[s]
    states: [AtomicU8; STOCK_MOST],
    /// \[b] Orderings: all relaxed. The orderings of the state hand these fields over.
    magazines: [[AtomicU32; MAGAZINE]; STOCK_MOST],
}

impl Stock {
    pub(crate) fn new() -> Self {
        Self {
            states: core::array::from_fn(|_| AtomicU8::new(EMPTY)),
            magazines: core::array::from_fn(|_| core::array::from_fn(|_| AtomicU32::new(0))),
        }
    }

    fn places(&self) -> impl DoubleEndedIterator<Item = (&AtomicU8, &[AtomicU32; MAGAZINE])> + ExactSizeIterator {
        self.states.iter().zip(&self.magazines)
    }

    /// Sets a magazine from state `from` to busy.
    fn seize(state: &AtomicU8, from: u8) -> bool {
        // Relaxed: a check that avoids the write where it would fail. Acquire: what the last holder wrote to the array
        // of frames and released by its store in `hand_over`.
        state.load(Relaxed) == from && state.compare_exchange(from, BUSY, Acquire, Relaxed).is_ok()
    }

    fn hand_over(state: &AtomicU8, to: u8) {
        // Release: what we wrote to the array of frames, for the next CPU that seizes it.
        state.store(to, Release);
    }

    /// Whether one of the first `limit` places is empty, at the moment of the check.
    #[inline]
    pub(crate) fn has_place(&self, limit: usize) -> bool {
        // Relaxed: only a hint; it claims no place.
        self.states.iter().take(limit).any(|state| state.load(Relaxed) == EMPTY)
    }

    /// Puts a full magazine in one of the first `limit` places; false if none of them is empty.
    pub(crate) fn push(&self, limit: usize, frame: impl Fn(usize) -> Offset) -> bool {
        for (state, magazine) in self.places().take(limit) {
            if Self::seize(state, EMPTY) {
                for (index, slot) in magazine.iter().enumerate() {
                    slot.store(frame(index), Relaxed);
                }
                Self::hand_over(state, FULL);
                return true;
            }
        }
        false
    }

    /// Takes a full magazine out of one of the places from `first` on.
    pub(crate) fn pop(&self, first: usize) -> Option<[Offset; MAGAZINE]> {
        self.places().skip(first).rev().find(|(state, _)| Self::seize(state, FULL)).map(|(state, magazine)| {
            let frames = core::array::from_fn(|index| magazine.get(index).map_or(0, |slot| slot.load(Relaxed)));
            Self::hand_over(state, EMPTY);
            frames
        })
    }

    /// Frames in full magazines. Others may change that meanwhile.
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure to read; it claims no frames.
        self.states.iter().filter(|state| state.load(Relaxed) == FULL).count() as u64 * MAGAZINE as u64
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_popped_once() {
        let stock = Stock::new();
        assert!(stock.push(2, |index| index as Offset));
        assert!(stock.push(2, |index| 100 + index as Offset));
        assert!(!stock.push(2, |_| 0), "both places are full");
        assert_eq!(stock.held(), 64);
        assert_eq!(stock.pop(2), None, "nothing lies beyond");
        assert_eq!(stock.pop(0).unwrap()[31], 131);
        assert_eq!(stock.pop(0).unwrap()[31], 31);
        assert_eq!(stock.pop(0), None);
        assert!(!stock.push(0, |_| 0), "no place at all");
    }
}
