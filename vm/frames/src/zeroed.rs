//! Zeroed frames: each domain keeps some, in slots that any CPU may fill or empty.

use crate::config::DomainId;
use crate::counters::Event;
use crate::pool::{Local, Pool};
use crate::pressure::Urgency;
use crate::primitive::AtomicU32;
use crate::state::{Offset, lane_of};
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

impl<'m> Pool<'m> {
    fn zeroed_of(&self, domain: DomainId) -> &'m [AtomicU32] {
        let count = self.policy.zeroed_most as usize;
        self.zeroed.get(usize::from(domain.0) * count..).and_then(|slots| slots.get(..count)).unwrap_or(&[])
    }

    /// Takes one of a domain's zeroed frames out of its slot, still parked.
    fn take_zeroed(slots: &[AtomicU32]) -> Option<Offset> {
        // Relaxed: a check that avoids the write to an empty slot. AcqRel: what `keep_zeroed` released, zeroes
        // included.
        slots.iter().find_map(|slot| (slot.load(Relaxed) != 0).then(|| slot.swap(0, AcqRel))?.checked_sub(1))
    }

    /// Takes a zeroed frame of this CPU's domain.
    pub(crate) fn get_zeroed(&self, local: &Local<'m>) -> Option<Offset> {
        let offset = Self::take_zeroed(self.zeroed_of(local.cache.domain))?;
        self.state_word(offset)?.take_parked(lane_of(offset));
        Some(offset)
    }

    /// Takes a frame to zero, if this CPU's domain has an empty slot. It never drains: a drain would empty other CPUs'
    /// caches, and free the frames that are already zeroed.
    pub(crate) fn get_to_zero(&self, local: &Local<'m>) -> Option<Offset> {
        if self.zeroed_of(local.cache.domain).iter().all(|slot| slot.load(Relaxed) != 0) {
            return None;
        }
        if local.cache.length() > 0 {
            local.count(Event::GetHit, 1);
        } else {
            local.count(Event::GetMiss, 1);
            if local.cache.pop_from_stock() {
                local.count(Event::Restocked, 1);
            } else if !self.refill_from_blocks(local, Urgency::Normal) {
                return None;
            }
        }
        let offset = local.cache.pop()?;
        self.state_word(offset)?.take_parked(lane_of(offset));
        Some(offset)
    }

    /// Keeps a frame that its user has zeroed. Returns false if all slots are full; the frame then still belongs to the
    /// user.
    pub(crate) fn keep_zeroed(&self, local: &Local<'m>, offset: Offset) -> bool {
        let Some(word) = self.state_word(offset) else { return false };
        if word.park_taken(lane_of(offset)).is_err() {
            return false;
        }
        // Release: the zeroes, for the CPU that takes the frame. A failure only means that the slot is full.
        let kept = self
            .zeroed_of(local.cache.domain)
            .iter()
            .any(|slot| slot.load(Relaxed) == 0 && slot.compare_exchange(0, offset + 1, Release, Relaxed).is_ok());
        if !kept {
            word.take_parked(lane_of(offset));
        }
        kept
    }

    /// Frees all zeroed frames. Returns how many.
    pub(crate) fn drain_zeroed(&self, local: &Local<'m>) -> u64 {
        let mut freed = 0;
        // Each slot once: slots that others fill meanwhile must not hold us in this loop.
        for slot in self.zeroed.chunks(1) {
            if let Some(offset) = Self::take_zeroed(slot) {
                self.free_parked(local, &[offset]);
                freed += 1;
            }
        }
        freed
    }

    /// Frames in slots.
    pub(crate) fn zeroed_held(&self) -> u64 {
        self.zeroed.iter().filter(|slot| slot.load(Relaxed) != 0).count() as u64
    }
}
