//! Further magazines of a CPU, full or empty. Any CPU may empty a full one without stopping the CPU whose it is.
//!
//! A magazine's state is its lock: whoever makes it busy has it, and nobody waits for it; a busy one is passed over.

use crate::primitive::{AtomicU8, AtomicU32};
use crate::state::Offset;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Frames of a magazine: as many as one step on a word can move. Large enough that the range layer is met once in 32
/// operations; small enough that what a CPU keeps when all is drained is 128 KiB.
#[cfg(not(all(loom, test)))]
pub(crate) const MAGAZINE: usize = 32;
/// Few, to explore all interleavings.
#[cfg(all(loom, test))]
pub(crate) const MAGAZINE: usize = 2;

/// Most magazines in stock: 512 KiB, the refills of 128 frames saved.
pub(crate) const STOCK_MOST: usize = 4;

const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const FULL: u8 = 2;

/// Fields: \[s] changed by compare-and-swap from empty or full to busy, and by who did that; \[b] by who made it busy.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Stock {
    /// \[s]
    states: [AtomicU8; STOCK_MOST],
    /// \[b] Orderings: relaxed, all; the state's hand them over.
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

    /// Makes a magazine busy that was `from`.
    fn seize(state: &AtomicU8, from: u8) -> bool {
        // Relaxed: a look that spares the write where it would fail. Acquire: what the last holder did to the frames' array,
        // which its store in `hand_over` released.
        state.load(Relaxed) == from && state.compare_exchange(from, BUSY, Acquire, Relaxed).is_ok()
    }

    fn hand_over(state: &AtomicU8, to: u8) {
        // Release: what we did to the frames' array, for who seizes it next.
        state.store(to, Release);
    }

    /// Whether one of the first `limit` places is empty, as far as can be seen.
    #[inline]
    pub(crate) fn has_place(&self, limit: usize) -> bool {
        // Relaxed: a look, with no claim on the place.
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

    /// Frames in full magazines, while others may change that.
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure to read, with no claim on the frames.
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
