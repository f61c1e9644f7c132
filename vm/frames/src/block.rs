//! One word per block of 512 frames: the block's home, whether it is reserved, and whether it is one huge frame.
//!
//! Every put reads it. It is written once per reservation and per huge frame, so its line stays shared by all CPUs.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–15 | home: number + 1 of the CPU that reserved the block last, 0 if none did |
//! | 16–23 | domain; never changes |
//! | 29 | some of its frames lie in a hole, so that it is never huge; never changes |
//! | 30 | reserved: its home parks free frames of it; other CPUs take frames here only if they find none elsewhere |
//! | 31 | huge: given out as one huge frame; its frames are closed |

use crate::config::DomainId;
use crate::primitive::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

const HOME: u32 = 0xffff;
const DOMAIN_SHIFT: u32 = 16;
const HOLED: u32 = 1 << 29;
const RESERVED: u32 = 1 << 30;
const HUGE: u32 = 1 << 31;

/// What a block's word held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block(u32);

impl Block {
    #[inline(always)]
    pub(crate) fn is_home_of(self, cpu: u32) -> bool {
        self.0 & HOME == cpu + 1
    }

    #[inline]
    pub(crate) fn domain(self) -> DomainId {
        DomainId((self.0 >> DOMAIN_SHIFT) as u8)
    }

    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self.0 & RESERVED != 0
    }

    pub(crate) fn is_holed(self) -> bool {
        self.0 & HOLED != 0
    }

    #[inline]
    pub(crate) fn is_huge(self) -> bool {
        self.0 & HUGE != 0
    }
}

/// A block's word, as all CPUs share it.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct BlockWord(AtomicU32);

impl BlockWord {
    pub(crate) fn new(domain: DomainId, is_holed: bool) -> Self {
        Self(AtomicU32::new(u32::from(domain.0) << DOMAIN_SHIFT | if is_holed { HOLED } else { 0 }))
    }

    /// For the home or the domain. An old value does no harm: the frame then takes another route that is equally
    /// correct.
    #[inline(always)]
    pub(crate) fn glance(&self) -> Block {
        // Relaxed: see above.
        Block(self.0.load(Relaxed))
    }

    /// For the reservation.
    #[inline]
    pub(crate) fn load(&self) -> Block {
        // SeqCst: pairs with `leave`; see `range_layer`.
        Block(self.0.load(SeqCst))
    }

    /// Reserves the block for a CPU and makes that CPU its home. Returns false if the block is already reserved or
    /// huge.
    pub(crate) fn reserve(&self, cpu: u32) -> bool {
        // SeqCst: a refusal rests on this value alone, and the caller has just removed the block's bit. With an old value
        // the block would keep neither bit nor reservation; see "Refusals" in `range_layer`.
        let mut old = self.0.load(SeqCst);
        loop {
            if old & (RESERVED | HUGE) != 0 {
                return false;
            }
            // SeqCst: after the removal of the index's bits, before the check of the block's words; see `range_layer`.
            // Relaxed on failure: the value is no older than the one that was loaded above.
            match self.0.compare_exchange_weak(old, old & !HOME | (cpu + 1) | RESERVED, SeqCst, Relaxed) {
                Ok(_) => return true,
                Err(found) => old = found,
            }
        }
    }

    /// Ends the reservation; the home stays.
    pub(crate) fn leave(&self) {
        // SeqCst: before the check of the block's words; see `range_layer`.
        self.0.fetch_and(!RESERVED, SeqCst);
    }

    /// Sets the huge bit. The caller has closed all frames of the block.
    pub(crate) fn make_huge(&self) {
        // SeqCst, like all changes of this word: they form one sequence on which the decisions of other CPUs rest.
        self.0.fetch_or(HUGE, SeqCst);
    }

    /// Clears the huge bit. Returns false if it was not set. If two CPUs put the same huge frame, only one gets true.
    pub(crate) fn end_huge(&self) -> bool {
        // SeqCst: as in `make_huge`.
        self.0.fetch_and(!HUGE, SeqCst) & HUGE != 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn its_fields_keep_apart() {
        let word = BlockWord::new(DomainId(31), true);
        assert!(!word.glance().is_home_of(0) && !word.load().is_reserved());
        assert!(word.reserve(65533));
        assert!(!word.reserve(1), "it is reserved");
        assert!(word.glance().is_home_of(65533) && word.load().is_reserved());
        word.leave();
        word.make_huge();
        assert!(!word.reserve(1), "it is huge");
        assert!(word.load().is_huge() && word.glance().is_home_of(65533) && !word.load().is_reserved());
        assert!(word.end_huge());
        assert!(!word.end_huge());
        assert!(word.reserve(1));
        assert_eq!(word.glance().domain(), DomainId(31));
        assert!(word.glance().is_holed() && !BlockWord::new(DomainId(31), false).glance().is_holed());
    }
}
