//! The range layer: the free frames of all memory, shared by all CPUs without a lock.
//!
//! A CPU reserves a block and parks its free frames word by word. After the last word it leaves the
//! block and reserves another. Each unreserved block with free frames has a bit in an index:
//! `whole` if it is free as a whole, else `open`. A handshake of two writes and two reads, all
//! sequentially consistent, ensures this:
//!
//! - A CPU that frees a frame writes the frame's word, then reads the block's word. If the block is
//!   not reserved, this CPU sets the bit.
//! - A CPU that leaves a block writes the block's word, then reads the frames' words. If one is
//!   free, this CPU sets the bit.
//!
//! In the single order of these four operations, either the CPU that frees sees that the block was
//! left, or the CPU that leaves sees the free frame. Putting a huge frame is such a step, too: it
//! writes the block's word, then sets the bit. Blocks without free frames may have bits; following
//! one costs a check.
//!
//! Refusals: a CPU that removes a bit then tries to reserve the block. If another CPU holds the
//! block, the first CPU gives up, and relies on the holder to set the bit when it leaves. The
//! holder writes the block's word, then reads the bit, and writes the bit only if it is not set. So
//! the bit may come from a third, slow CPU, and the CPU that removes it has then not synchronised
//! with the holder. Therefore its read of the block's word is sequentially consistent, too. In the
//! single order, either the holder reads the bit after its removal and sets it again; or the holder
//! read the bit before, so it had left the block before, and the removing CPU sees that.
//!
//! This layer knows neither caches nor counts. It returns the frames that a step freed as
//! [`Freed`], for the layers above.

use crate::block::{BlockState, BlockWord};
use crate::error::PutError;
use crate::frame::{Block, FRAMES_PER_BLOCK, FRAMES_PER_WORD, Offset};
use crate::index::Index;
use crate::primitive::{order_for_loom, relax};
use crate::spans::Spans;
use crate::state::Words;
use crate::state::{ALL_LANES, Lanes, State, StateWord, Word, lane_of, word_of};
use faultline_numbers::{CpuNumber, DomainId, FrameNumber};

/// Fields: all \[I] immutable references. All mutable data lies on lines of the metadata and is
/// changed by atomic steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RangeLayer<'m> {
    pub(crate) spans: Spans<'m>,
    pub(crate) words: Words<'m>,
    pub(crate) blocks: &'m [BlockWord],
    /// Partly free, unreserved blocks.
    pub(crate) open: Index<'m>,
    /// Unreserved blocks that are free as a whole.
    pub(crate) whole: Index<'m>,
}

/// Frames freed by a step, for the layers above to account for.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(crate) struct Freed {
    pub(crate) block: Block,
    /// Index of their word in the block.
    pub(crate) word: u32,
    pub(crate) domain: DomainId,
    pub(crate) count: u32,
    pub(crate) is_reserved: bool,
}

impl<'m> RangeLayer<'m> {
    #[inline(always)]
    pub(crate) fn offset(&self, frame: FrameNumber) -> Option<Offset> {
        self.spans.offset(frame)
    }

    /// The number of an existing frame.
    #[inline(always)]
    pub(crate) fn number(&self, offset: Offset) -> FrameNumber {
        // Any other offset would come from outside all spans, where no block exists.
        self.spans.number(offset).unwrap_or(FrameNumber(u64::MAX))
    }

    #[inline(always)]
    pub(crate) fn block(&self, block: Block) -> Option<&'m BlockWord> {
        self.blocks.get(block.0 as usize)
    }

    #[inline]
    pub(crate) fn domain_of(&self, block: Block) -> Option<DomainId> {
        self.block(block).map(|word| word.glance().domain())
    }

    /// The words of a block; empty if the block was never opened.
    #[inline]
    pub(crate) fn words(&self, block: Block) -> &'m [StateWord] {
        match self.block(block) {
            // SAFETY: the CPU that set the bit made the words before, and this load has read what
            // it wrote.
            Some(word) if word.load().is_opened() => unsafe { self.words.of(block) },
            _ => &[],
        }
    }

    /// The word of a frame; none if its block was never opened.
    #[inline]
    pub(crate) fn word(&self, offset: Offset) -> Option<&'m StateWord> {
        self.words(Block::of(offset)).get(word_of(offset % FRAMES_PER_BLOCK))
    }

    /// parked → taken.
    ///
    /// # Safety
    /// The caller holds the frame: it parked the frame itself, or got it from a CPU that did.
    #[inline(always)]
    pub(crate) unsafe fn take_parked(&self, offset: Offset) {
        // SAFETY: the CPU that parked the frame read or made its word before.
        if let Some(word) = unsafe { self.words.word(offset) } {
            word.take_parked(lane_of(offset));
        }
    }

    /// taken → parked, for a frame of a block whose home is the calling CPU. The error is the
    /// frame's state.
    ///
    /// # Safety
    /// The block's home is the calling CPU.
    #[inline(always)]
    pub(crate) unsafe fn park_taken(&self, offset: Offset) -> Result<(), State> {
        // SAFETY: this CPU became the home when it reserved the block, and made its words then, if
        // they were not made before.
        unsafe { self.words.word(offset) }.map_or(Err(State::Closed), |word| word.park_taken(lane_of(offset)))
    }

    /// Reserves a block after its bit was found: removes the bit, and opens the block if it is
    /// whole. Returns false if another CPU was faster.
    pub(crate) fn reserve(&self, block: Block, cpu: CpuNumber) -> bool {
        let (open, whole) = (self.open.remove(block), self.whole.remove(block));
        order_for_loom();
        let Some(before) = self.block(block).filter(|_| open || whole).and_then(|word| word.reserve(cpu)) else {
            return false;
        };
        if before.is_whole() {
            self.open_words(block, before, Word(0), StateWord::reopen);
        }
        true
    }

    /// Makes the frames of a split block taken in its words, or waits for another CPU that does:
    /// for its 16 stores. For a caller that claims to have one of the frames.
    #[cold]
    pub(crate) fn open_split(&self, block: Block) {
        let Some(word) = self.block(block) else { return };
        if let Some(before) = word.open_split() {
            // It may remain from a hint; it is useless, because no frame of the block is free.
            self.whole.remove(block);
            self.make_or_set(block, before, Word(ALL_LANES), StateWord::reopen_taken);
            word.end_opening();
        }
        while word.load().is_opening() {
            relax();
        }
    }

    /// The word of a frame that the caller claims to have; none if its block was never opened.
    #[inline]
    fn word_of_user(&self, offset: Offset) -> Option<&'m StateWord> {
        let block = Block::of(offset);
        let state = self.block(block)?.load();
        if state.is_split() {
            self.open_split(block);
        } else if !state.is_opened() {
            return None;
        }
        // SAFETY: as in `words`; if it was split, `open_split` has made the words, or has read that
        // another CPU has.
        unsafe { self.words.word(offset) }
    }

    /// Ends the reservation of a block. Its holder no longer refers to it.
    pub(crate) fn leave(&self, block: Block) {
        if let Some(word) = self.block(block) {
            word.leave();
            order_for_loom();
            self.publish(block);
        }
    }

    /// Sets the words of a block. The caller has cleared the bit for whole or huge, and `before` is
    /// the block's state before that, so all words are closed or not made yet.
    pub(crate) fn open_words(&self, block: Block, before: BlockState, first: Word, again: fn(&StateWord)) {
        self.make_or_set(block, before, first, again);
        if let Some(word) = self.block(block).filter(|_| !before.is_opened()) {
            word.note_opened();
        }
    }

    /// Like `open_words`; the caller then notes that the block is opened.
    pub(crate) fn make_or_set(&self, block: Block, before: BlockState, first: Word, again: fn(&StateWord)) {
        if before.is_opened() {
            // SAFETY: as in `words`: the caller has read the bit.
            unsafe { self.words.of(block) }.iter().for_each(again);
        } else {
            // SAFETY: 1. The block was never opened, and this CPU alone has cleared the bit. 2. No
            // CPU accesses the words before the block is noted as opened.
            unsafe { self.words.make(block, |_| first) };
        }
    }

    /// Makes the frames of an unreserved whole block available in its words. The caller publishes
    /// the block afterwards. Returns false if the block is not whole.
    pub(crate) fn break_whole(&self, block: Block) -> bool {
        let before = self.block(block).and_then(BlockWord::break_whole);
        if let Some(before) = before {
            self.open_words(block, before, Word(0), StateWord::reopen);
        }
        before.is_some()
    }

    pub(crate) fn free_in_block(&self, block: Block) -> u32 {
        match self.block(block).map(BlockWord::load) {
            Some(state) if state.is_whole() => FRAMES_PER_BLOCK,
            _ => self.words(block).iter().map(|word| word.load().free().count_ones()).sum(),
        }
    }

    /// Frees parked frames that the caller holds, with one step for all frames of a word.
    pub(crate) fn free_parked(&self, frames: &[Offset], mut account: impl FnMut(Freed)) {
        each_word(frames, |first, lanes| self.free_parked_lanes(first, lanes).into_iter().for_each(&mut account));
    }

    /// Frees parked frames of the word of `first`. The caller holds them.
    pub(crate) fn free_parked_lanes(&self, first: Offset, lanes: Lanes) -> Option<Freed> {
        // SAFETY: as in `take_parked`.
        let after = unsafe { self.words.word(first) }?.free_parked(lanes);
        self.freed(first, after, lanes.count_ones())
    }

    /// taken → free, for those frames of the word of `first` that are taken. Returns the previous
    /// word (closed if there is none), the freed frames, and the account. `is_near`: see
    /// [`StateWord::free_taken`].
    #[inline]
    pub(crate) fn free_taken(&self, first: Offset, lanes: Lanes, is_near: bool) -> (Word, Lanes, Option<Freed>) {
        let Some(word) = self.word_of_user(first) else { return (Word::CLOSED, 0, None) };
        let (before, freed) = word.free_taken(lanes, is_near);
        if freed == 0 {
            return (before, 0, None);
        }
        (before, freed, self.freed(first, Word(before.0 ^ freed), freed.count_ones()))
    }

    /// Sets the block's bit if needed, after frames of a word were freed. `after`: the word's state
    /// after that.
    #[inline]
    pub(crate) fn freed(&self, first: Offset, after: Word, count: u32) -> Option<Freed> {
        let block = Block::of(first);
        let word = self.block(block)?;
        order_for_loom();
        let seen = word.load();
        if !seen.is_reserved() {
            if after.is_all_free() {
                self.publish(block);
            } else {
                self.open.insert(block);
            }
        }
        let word = first % FRAMES_PER_BLOCK / FRAMES_PER_WORD;
        Some(Freed { block, word, domain: seen.domain(), count, is_reserved: seen.is_reserved() })
    }

    /// Sets an unreserved block's bit, and makes the block whole if all its frames are free. Call
    /// it after every step that may have changed that.
    #[inline(never)]
    pub(crate) fn publish(&self, block: Block) {
        let Some(word) = self.block(block) else { return };
        loop {
            let state = word.load();
            if state.is_reserved() || state.is_huge() || state.is_split() {
                return;
            }
            if state.is_whole() {
                return self.whole.insert(block);
            }
            let (mut any, mut all) = (false, true);
            for word in self.words(block) {
                let word = word.load();
                any |= word.free() != 0;
                all &= word.is_all_free();
            }
            if !any {
                return;
            }
            if !all {
                return self.open.insert(block);
            }
            if self.close(block) {
                word.make_whole();
                order_for_loom();
            }
        }
    }

    /// Closes all words of a block, each from all free, or none. Among several CPUs, only the one
    /// that closes the first word continues.
    pub(crate) fn close(&self, block: Block) -> bool {
        let words = self.words(block);
        let closed = words.iter().take_while(|word| word.close()).count();
        if closed == words.len() {
            return closed > 0;
        }
        words.iter().take(closed).for_each(StateWord::reopen);
        order_for_loom();
        false
    }

    /// The reason why a frame in this state can't be put alone.
    #[cold]
    pub(crate) fn refusal(&self, offset: Offset, state: State) -> PutError {
        match (self.block(Block::of(offset)).map(BlockWord::load), state) {
            (Some(block), State::Closed) if block.is_huge() => PutError::WrongOrder,
            (Some(block), State::Closed) if block.is_offline() => PutError::Absent,
            // Free as a whole, or part of a huge frame that is being got or put.
            (Some(block), State::Closed) if !block.is_holed() => PutError::AlreadyFree,
            (_, State::Closed) => PutError::Absent,
            // Taken: another CPU has taken it since, so it was free when examined.
            (_, State::Free | State::Parked | State::Taken) => PutError::AlreadyFree,
        }
    }
}

/// Calls `each` once per word, with one of its frames and the set of all of them. A frame that
/// occurs twice causes two calls.
pub(crate) fn each_word(frames: &[Offset], mut each: impl FnMut(Offset, Lanes)) {
    for chunk in frames.chunks(u64::BITS as usize) {
        let mut left = u64::MAX >> (u64::BITS as usize - chunk.len());
        while left != 0 {
            let Some(&first) = chunk.get(left.trailing_zeros() as usize) else { return };
            let mut lanes = 0;
            for (index, &offset) in chunk.iter().enumerate() {
                let lane = lane_of(offset);
                if left & 1 << index != 0 && word_of(offset) == word_of(first) && lanes & lane == 0 {
                    lanes |= lane;
                    left &= !(1 << index);
                }
            }
            each(first, lanes);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::counters::Event;
    use crate::layers::Urgency;
    use crate::search::Search;
    use crate::{Config, FixedCpu, Frames, MemoryArea};
    use core::mem::MaybeUninit;
    use std::vec;

    /// A CPU leaves a block whose bit a slow CPU has already set, while another CPU follows that
    /// bit. Meant for Miri, which lets a load return an old value where its ordering permits that:
    /// `make -C vm miri`.
    #[test]
    fn a_late_bit_loses_no_frame() {
        (0..8).for_each(|_| leave_beside_a_late_bit());
    }

    fn leave_beside_a_late_bit() {
        let memory = [MemoryArea { first: FrameNumber(0), frames: 4, domain: DomainId(0) }];
        let config = Config::new(&memory, &[DomainId(0); 2]);
        let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
        // SAFETY: each number has one handle, and one thread at a time uses a handle.
        let cpu = |number| unsafe { FixedCpu::new(CpuNumber(number)) };
        let one = Frames::new(&config, &mut metadata, cpu(0)).unwrap();
        let two = one.on(cpu(1));
        one.get().unwrap();
        one.inside(|layers, _| layers.range.open.insert(Block(0)));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                _ = two.inside(|layers, local| layers.refill(local, Urgency::Normal, &mut Search::default()));
                two.drain_own();
            });
            one.drain_own();
        });
        (0..3).for_each(|_| assert!(one.get().is_ok()));
        assert_eq!(one.counters().of(Event::Scan), 0, "a free frame was lost to the index");
    }
}
