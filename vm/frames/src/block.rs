//! One word per block of 512 frames: its home CPU, its reservation, and whether it is free or taken
//! as a whole.
//!
//! Every put reads the word. Only reservations and huge frames write it, so all CPUs keep its line
//! shared.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–15 | home: number + 1 of the CPU that last reserved the block; 0: none yet |
//! | 16–23 | domain; never changes |
//! | 24 | opening: a CPU is making its words; other CPUs that need them wait for it |
//! | 25 | split: taken as 512 frames; its words are closed or not made |
//! | 26 | offline: no memory until it is put online; its words are closed or not made |
//! | 27 | opened: its state words have been made; never cleared |
//! | 28 | whole: free as a whole; its words are closed or not made |
//! | 29 | partly in a hole, so never a huge frame; ends when the last missing frame has come |
//! | 30 | reserved: its home parks its free frames; others take them only as a last resort |
//! | 31 | huge: taken as one huge frame; its words are closed |
//!
//! At most one of opening, split, offline, whole and huge is set. If none is, the state words
//! decide. Taking a whole block as a huge frame and putting it back are one step each on this word.
//! Frames of a whole block are given out singly only after it is opened: the CPU that clears the
//! bit then frees the frames in the state words. A block becomes whole again when a CPU has closed
//! all its words, each from all free.
//!
//! A huge frame that is split keeps its words closed until one of its frames is put by itself: the
//! CPU that clears the bit then makes all its frames taken in the state words. So splitting it and
//! putting or joining all of it are single steps, too.
//!
//! A block may be whole or huge and still reserved, if all its frames came back before its home
//! left it. The home then finds no free frame and leaves the block.

use crate::primitive::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use faultline_numbers::{CpuNumber, DomainId};

const HOME: u32 = 0xffff;
const DOMAIN_SHIFT: u32 = 16;
const OPENING: u32 = 1 << 24;
const SPLIT: u32 = 1 << 25;
const OFFLINE: u32 = 1 << 26;
const OPENED: u32 = 1 << 27;
const WHOLE: u32 = 1 << 28;
const HOLED: u32 = 1 << 29;
const RESERVED: u32 = 1 << 30;
const HUGE: u32 = 1 << 31;

/// The value of a block's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockState(u32);

impl BlockState {
    /// In a hole.
    pub(crate) const ABSENT: Self = Self(HOLED);

    /// All frames exist and are free.
    pub(crate) fn whole(domain: DomainId) -> Self {
        Self(u32::from(domain.0) << DOMAIN_SHIFT | WHOLE)
    }

    /// No memory yet.
    pub(crate) fn offline(domain: DomainId) -> Self {
        Self(u32::from(domain.0) << DOMAIN_SHIFT | OFFLINE)
    }

    /// No memory yet, and only some frames may come.
    pub(crate) fn partly_offline(domain: DomainId) -> Self {
        Self(Self::offline(domain).0 | HOLED)
    }

    /// Some frames exist; the state words have been made.
    pub(crate) fn partial(domain: DomainId) -> Self {
        Self(u32::from(domain.0) << DOMAIN_SHIFT | HOLED | OPENED)
    }

    #[inline(always)]
    pub(crate) fn is_home_of(self, cpu: CpuNumber) -> bool {
        self.0 & HOME == cpu.0 + 1
    }

    #[inline]
    pub(crate) fn domain(self) -> DomainId {
        DomainId((self.0 >> DOMAIN_SHIFT) as u8)
    }

    #[inline]
    pub(crate) fn is_opened(self) -> bool {
        self.0 & OPENED != 0
    }

    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.0 & WHOLE != 0
    }

    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self.0 & RESERVED != 0
    }

    pub(crate) fn is_offline(self) -> bool {
        self.0 & OFFLINE != 0
    }

    pub(crate) fn is_holed(self) -> bool {
        self.0 & HOLED != 0
    }

    #[inline]
    pub(crate) fn is_huge(self) -> bool {
        self.0 & HUGE != 0
    }

    /// True if all its frames are taken singly, and its words do not say so yet.
    #[inline]
    pub(crate) fn is_split(self) -> bool {
        self.0 & (SPLIT | OPENING) != 0
    }

    #[inline]
    pub(crate) fn is_opening(self) -> bool {
        self.0 & OPENING != 0
    }
}

/// A block's word, shared by all CPUs.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct BlockWord(AtomicU32);

// Orderings: all steps are sequentially consistent, because decisions of other CPUs rest on them
// together with the index and the state words; see `range_layer`.
impl BlockWord {
    pub(crate) fn new(state: BlockState) -> Self {
        Self(AtomicU32::new(state.0))
    }

    /// Reads the home or the domain. An old value is harmless: the frame takes another, equally
    /// correct route.
    #[inline(always)]
    pub(crate) fn glance(&self) -> BlockState {
        // Relaxed: see above.
        BlockState(self.0.load(Relaxed))
    }

    /// Reads the state for any decision beyond the home and the domain.
    #[inline]
    pub(crate) fn load(&self) -> BlockState {
        BlockState(self.0.load(SeqCst))
    }

    /// Replaces the value by `change`'s result, if it returns one. Returns the old value.
    ///
    /// A refusal rests on a value that is read in the order of the handshake, or on a newer one:
    /// the caller may have removed the block's bit before, and with an old value the block would
    /// keep neither bit nor reservation. See "Refusals" in `range_layer`.
    #[inline]
    fn change(&self, change: impl Fn(u32) -> Option<u32>) -> Option<BlockState> {
        let mut old = self.0.load(SeqCst);
        loop {
            // Relaxed on failure: the value is no older than the one loaded above.
            match self.0.compare_exchange_weak(old, change(old)?, SeqCst, Relaxed) {
                Ok(_) => return Some(BlockState(old)),
                Err(found) => old = found,
            }
        }
    }

    /// Reserves the block for a CPU and makes that CPU its home. Returns the state before, or none
    /// if the block is reserved, huge or in a hole. If it was whole, the caller must open the
    /// block.
    pub(crate) fn reserve(&self, cpu: CpuNumber) -> Option<BlockState> {
        self.change(|old| {
            let can_be = old & (RESERVED | HUGE | OFFLINE | SPLIT | OPENING) == 0 && old & (OPENED | WHOLE) != 0;
            can_be.then_some(old & !(HOME | WHOLE) | (cpu.0 + 1) | RESERVED)
        })
    }

    /// Clears the whole bit; keeps the reservation. Returns the state before, or none if the block
    /// is not whole. The caller must then open the block.
    pub(crate) fn break_whole(&self) -> Option<BlockState> {
        self.change(|old| (old & WHOLE != 0).then_some(old & !WHOLE))
    }

    /// Sets the opened bit. The caller has made the state words.
    pub(crate) fn note_opened(&self) {
        self.0.fetch_or(OPENED, SeqCst);
    }

    /// Ends the reservation; the home stays.
    pub(crate) fn leave(&self) {
        self.0.fetch_and(!RESERVED, SeqCst);
    }

    /// Sets the whole bit. The caller has closed all frames of the block, each from free, so none
    /// is missing.
    pub(crate) fn make_whole(&self) {
        self.change(|old| Some(old & !HOLED | WHOLE));
    }

    /// Whole → huge. Returns false if it is not whole.
    #[inline]
    pub(crate) fn take_whole(&self) -> bool {
        self.change(|old| (old & WHOLE != 0).then_some(old ^ (WHOLE | HUGE))).is_some()
    }

    /// Huge → whole. Returns the state before, or none if it is not huge. If two CPUs put the same
    /// huge frame, one of them gets none.
    #[inline]
    pub(crate) fn put_whole(&self) -> Option<BlockState> {
        self.change(|old| (old & HUGE != 0).then_some(old ^ (WHOLE | HUGE)))
    }

    /// Huge or split → whole. Returns the state before, or none if it is neither.
    pub(crate) fn put_all(&self) -> Option<BlockState> {
        self.change(|old| (old & (HUGE | SPLIT) != 0).then_some(old & !(HUGE | SPLIT) | WHOLE))
    }

    /// Huge → offline. Returns false if it is not huge.
    pub(crate) fn put_offline(&self) -> bool {
        self.change(|old| (old & HUGE != 0).then_some(old ^ (HUGE | OFFLINE))).is_some()
    }

    /// Offline → whole. Returns the state before, or none if it is not offline, or only partly.
    pub(crate) fn put_online(&self) -> Option<BlockState> {
        self.change(|old| (old & (OFFLINE | HOLED) == OFFLINE).then_some(old ^ (OFFLINE | WHOLE)))
    }

    /// Sets the huge bit. The caller has closed all frames of the block.
    pub(crate) fn make_huge(&self) {
        self.change(|old| Some(old & !HOLED | HUGE));
    }

    /// Huge → split. Returns false if it is not huge.
    pub(crate) fn split(&self) -> bool {
        self.change(|old| (old & HUGE != 0).then_some(old ^ (HUGE | SPLIT))).is_some()
    }

    /// Split → huge. Returns false if it is not split, or its words have been made.
    pub(crate) fn join(&self) -> bool {
        self.change(|old| (old & SPLIT != 0).then_some(old ^ (HUGE | SPLIT))).is_some()
    }

    /// Split → opening. Returns the state before, or none if it is not split. The caller makes all
    /// frames taken, and then calls `end_opening`.
    pub(crate) fn open_split(&self) -> Option<BlockState> {
        self.change(|old| (old & SPLIT != 0).then_some(old ^ (SPLIT | OPENING)))
    }

    /// Offline → opening, partly in a hole. Returns the state before, or none if it is not offline.
    /// The caller makes all frames closed, and then calls `end_opening`.
    pub(crate) fn open_offline(&self) -> Option<BlockState> {
        self.change(|old| (old & OFFLINE != 0).then_some(old & !OFFLINE | OPENING | HOLED))
    }

    /// Opening → opened.
    pub(crate) fn end_opening(&self) {
        self.change(|old| Some(old & !OPENING | OPENED));
    }

    /// Records that no frame is missing any more.
    pub(crate) fn fill_hole(&self) {
        self.0.fetch_and(!HOLED, SeqCst);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn its_fields_keep_apart() {
        let word = BlockWord::new(BlockState::partial(DomainId(31)));
        assert!(!word.glance().is_home_of(CpuNumber(0)) && !word.load().is_reserved());
        assert!(word.reserve(CpuNumber(65533)).is_some_and(|before| !before.is_whole()));
        assert_eq!(word.reserve(CpuNumber(1)), None, "it is reserved");
        assert!(word.glance().is_home_of(CpuNumber(65533)) && word.load().is_reserved());
        word.leave();
        word.make_huge();
        assert_eq!(word.reserve(CpuNumber(1)), None, "it is huge");
        assert!(!word.take_whole());
        assert!(word.load().is_huge() && word.glance().is_home_of(CpuNumber(65533)) && !word.load().is_reserved());
        assert!(word.put_whole().is_some() && word.put_whole().is_none());
        assert!(word.load().is_whole() && !word.load().is_huge());
        assert!(word.take_whole() && !word.take_whole());
        assert!(word.put_offline() && !word.put_offline());
        assert!(word.load().is_offline() && word.reserve(CpuNumber(1)).is_none() && !word.take_whole());
        assert!(word.put_online().is_some() && word.put_online().is_none() && word.take_whole());
        assert!(word.split() && !word.split() && word.join() && !word.join() && word.split());
        assert!(word.load().is_split() && word.reserve(CpuNumber(1)).is_none());
        assert!(word.open_split().is_some() && word.open_split().is_none() && word.put_all().is_none());
        assert!(word.load().is_opening() && word.load().is_split() && word.reserve(CpuNumber(1)).is_none());
        word.end_opening();
        assert!(!word.load().is_split() && word.load().is_opened());
        word.make_whole();
        assert!(word.take_whole() && word.split() && word.put_all().is_some() && word.put_all().is_none());
        assert!(word.reserve(CpuNumber(1)).is_some_and(BlockState::is_whole));
        assert_eq!(word.break_whole(), None);
        assert_eq!(word.glance().domain(), DomainId(31));
        assert!(!word.glance().is_holed() && BlockState::partial(DomainId(31)).is_holed(), "it was whole");
        assert!(!BlockState::whole(DomainId(31)).is_holed());
        let partly = BlockWord::new(BlockState::partly_offline(DomainId(3)));
        assert!(partly.put_online().is_none() && partly.open_offline().is_some() && partly.open_offline().is_none());
        partly.end_opening();
        assert!(partly.load().is_holed() && partly.load().is_opened() && !partly.load().is_offline());
        assert_eq!(BlockWord::new(BlockState::ABSENT).reserve(CpuNumber(0)), None);
    }
}
