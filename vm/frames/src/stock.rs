//! Parked frames that any CPU may take out: further magazines of a CPU, and slots of zeroed frames
//! of a domain. No owner is stopped for it.
//!
//! The state of a magazine is its lock. The CPU that sets it to busy holds the magazine. Other CPUs
//! skip a busy magazine.

use crate::config::MOST_STOCK;
use crate::frame::Offset;
use crate::primitive::{AtomicU8, AtomicU32};
use core::ops::Range;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use faultline_numbers::DomainId;

/// Frames of a magazine: as many as one step on a state word can move. Large enough that only one
/// operation in 32 reaches the range layer; small enough that a CPU keeps only 128 KiB after a
/// drain.
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

/// A CPU's further magazines, full or empty.
///
/// Fields: \[s] changed by compare-and-swap from empty or full to busy, then by the CPU that did
/// so; \[b] changed by the CPU that set the state to busy.
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
        // Relaxed: a check that avoids a write that would fail. Acquire: the last holder's writes
        // to the array of frames, which it released in `hand_over`.
        state.load(Relaxed) == from && state.compare_exchange(from, BUSY, Acquire, Relaxed).is_ok()
    }

    fn hand_over(state: &AtomicU8, to: u8) {
        // Release: this CPU's writes to the array of frames, for the next CPU that seizes it.
        state.store(to, Release);
    }

    /// True if one of the first `limit` places is empty at this moment.
    #[inline]
    pub(crate) fn has_place(&self, limit: usize) -> bool {
        // Relaxed: only a hint; it claims no place.
        self.states.iter().take(limit).any(|state| state.load(Relaxed) == EMPTY)
    }

    /// Puts a full magazine in one of the first `limit` places. Returns false if none of them is
    /// empty.
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

    /// Frames in full magazines. Other CPUs may change that meanwhile.
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure to read; it claims no frames.
        self.states.iter().filter(|state| state.load(Relaxed) == FULL).count() as u64 * MAGAZINE as u64
    }
}

/// Zeroed frames, some per domain.
///
/// Fields: \[a] each slot is changed by a compare-and-swap or a swap, and the CPU that empties it
/// holds its frame; \[I] immutable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zeroed<'m> {
    /// \[a] 0, or an offset plus 1. The slots of a domain are consecutive.
    pub(crate) slots: &'m [AtomicU32],
    /// \[I] Number of slots per domain.
    pub(crate) each: usize,
}

impl<'m> Zeroed<'m> {
    fn of(&self, domain: DomainId) -> &'m [AtomicU32] {
        self.slots.get(usize::from(domain.0) * self.each..).and_then(|slots| slots.get(..self.each)).unwrap_or(&[])
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes the frame out of a slot, still parked.
    fn empty(slot: &AtomicU32) -> Option<Offset> {
        // Relaxed: a check that avoids the write to an empty slot. AcqRel: the writes released by
        // `keep`, including the zeroes.
        (slot.load(Relaxed) != 0).then(|| slot.swap(0, AcqRel))?.checked_sub(1)
    }

    /// Takes one of a domain's frames out of its slot, still parked.
    pub(crate) fn take(&self, domain: DomainId) -> Option<Offset> {
        self.of(domain).iter().find_map(Self::empty)
    }

    pub(crate) fn has_room(&self, domain: DomainId) -> bool {
        // Relaxed: a hint.
        self.of(domain).iter().any(|slot| slot.load(Relaxed) == 0)
    }

    /// Keeps a parked frame that its holder has zeroed. Returns false if all slots are full.
    pub(crate) fn keep(&self, domain: DomainId, offset: Offset) -> bool {
        // Release: the zeroes, for the CPU that takes the frame. A failure only means that the slot
        // is full.
        self.of(domain)
            .iter()
            .any(|slot| slot.load(Relaxed) == 0 && slot.compare_exchange(0, offset + 1, Release, Relaxed).is_ok())
    }

    /// Takes the frames out of some slots, each slot once, even if other CPUs fill it again.
    pub(crate) fn take_out(&self, slots: Range<usize>, each: impl FnMut(Offset)) {
        self.slots.get(slots).unwrap_or(&[]).iter().filter_map(Self::empty).for_each(each);
    }

    /// Frames in slots.
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure.
        self.slots.iter().filter(|slot| slot.load(Relaxed) != 0).count() as u64
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
