//! The swap area: slots of a pager with contents of anonymous memory, each with an owner count.
//!
//! Owners of a slot are places in spaces' trees, a place of an object, or a page with the same
//! contents. Slots are taken in runs, so that pages are written in clusters.

use crate::error::NoMemory;
use crate::object::pager::Pager;
use crate::primitive::{AtomicU32, try_slice};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

/// A swap area. Fields: \[I] immutable; \[a] independent atomic words.
#[derive(Debug)]
pub(crate) struct SwapArea {
    /// \[I]
    pub(crate) pager: Arc<dyn Pager>,
    /// \[a] Owners of each slot; 0: free.
    owners: Box<[AtomicU32]>,
    /// \[a] Start of the next search for free slots: a hint.
    next: AtomicU32,
}

impl SwapArea {
    pub(crate) fn new(pager: Arc<dyn Pager>, slots: u32) -> Result<Self, NoMemory> {
        // The number of a slot, plus 1, is kept in 32 bits.
        let slots = slots.min(u32::MAX - 1);
        Ok(Self { pager, owners: try_slice(slots as usize, || AtomicU32::new(0))?, next: AtomicU32::new(0) })
    }

    fn owners(&self, slot: u32) -> Option<&AtomicU32> {
        self.owners.get(slot as usize)
    }

    /// Takes up to `most` contiguous slots, each with one owner. Returns the first and their
    /// number, or `None` if all are taken.
    pub(crate) fn take(&self, most: usize) -> Option<(u32, usize)> {
        let slots = self.owners.len() as u32;
        // Relaxed: a hint.
        let start = self.next.load(Relaxed).checked_rem(slots)?;
        let first = (start..slots).chain(0..start).find(|slot| self.take_one(*slot))?;
        let more = (first + 1..slots).take(most.saturating_sub(1)).take_while(|slot| self.take_one(*slot));
        let count = 1 + more.count();
        self.next.store(first + count as u32, Relaxed);
        Some((first, count))
    }

    fn take_one(&self, slot: u32) -> bool {
        // AcqRel: acquires the last owner's actions; pairs with `release`. The take itself hands
        // nothing over.
        self.owners(slot).is_some_and(|owners| owners.compare_exchange(0, 1, AcqRel, Relaxed).is_ok())
    }

    /// Adds an owner. Called by an owner. False if there is no such slot.
    pub(crate) fn share(&self, slot: u32) -> bool {
        // Relaxed: as in `Counted::share`.
        self.owners(slot).is_some_and(|owners| owners.fetch_add(1, Relaxed) > 0)
    }

    /// Removes an owner. After the last one the slot is free. False if it had none.
    pub(crate) fn release(&self, slot: u32) -> bool {
        // AcqRel: this owner's reads come before another's use of the slot.
        let less = |owners: &AtomicU32| owners.fetch_update(AcqRel, Relaxed, |owners| owners.checked_sub(1));
        self.owners(slot).is_some_and(|owners| less(owners).is_ok())
    }

    /// Number of used slots.
    pub(crate) fn taken(&self) -> u64 {
        // Relaxed: a statistic.
        self.owners.iter().filter(|owners| owners.load(Relaxed) > 0).count() as u64
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::object::pager::{Started, Transfer};
    use faultline_numbers::FrameNumber;

    #[derive(Debug)]
    struct Nowhere;

    impl Pager for Nowhere {
        fn read(&self, _: u64, _: &[FrameNumber], transfer: Transfer) -> Started {
            Started::Done(transfer, 0)
        }

        fn write(&self, _: u64, _: &[FrameNumber], transfer: Transfer) -> Started {
            Started::Done(transfer, 0)
        }
    }

    #[test]
    fn slots_are_taken_in_runs_and_come_back() {
        let area = SwapArea::new(Arc::new(Nowhere), 10).unwrap();
        assert_eq!((area.take(4), area.take(4), area.take(4)), (Some((0, 4)), Some((4, 4)), Some((8, 2))));
        assert_eq!((area.take(1), area.taken()), (None, 10));
        assert!(area.share(5) && !area.share(10) && !area.release(10));
        assert!([3, 5, 6].into_iter().all(|slot| area.release(slot)) && !area.release(3));
        assert_eq!((area.take(4), area.take(4), area.take(4)), (Some((3, 1)), Some((6, 1)), None));
        assert!(area.release(5) && !area.release(5));
        assert_eq!((area.take(2), area.taken()), (Some((5, 1)), 10));
        assert_eq!(SwapArea::new(Arc::new(Nowhere), 0).unwrap().take(1), None);
    }
}
