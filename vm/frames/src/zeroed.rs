//! Zeroed frames: each domain keeps some, in slots that any CPU may fill or empty.

use crate::frame::Offset;
use crate::primitive::AtomicU32;
use core::ops::Range;
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use faultline_numbers::DomainId;

/// Fields: \[a] each slot is changed by a compare-and-swap or a swap, and whoever empties it holds its frame; \[I]
/// immutable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zeroed<'m> {
    /// \[a] 0, or an offset plus 1. Those of a domain follow each other.
    pub(crate) slots: &'m [AtomicU32],
    /// \[I] Number of slots of each domain.
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
        // Relaxed: a check that avoids the write to an empty slot. AcqRel: what `keep` released, zeroes included.
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
        // Release: the zeroes, for the CPU that takes the frame. A failure only means that the slot is full.
        self.of(domain)
            .iter()
            .any(|slot| slot.load(Relaxed) == 0 && slot.compare_exchange(0, offset + 1, Release, Relaxed).is_ok())
    }

    /// Takes the frames out of some slots, each once: slots that others fill meanwhile are not looked at again.
    pub(crate) fn take_out(&self, slots: Range<usize>, each: impl FnMut(Offset)) {
        self.slots.get(slots).unwrap_or(&[]).iter().filter_map(Self::empty).for_each(each);
    }

    /// Frames in slots.
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a figure.
        self.slots.iter().filter(|slot| slot.load(Relaxed) != 0).count() as u64
    }
}
