//! The range layer: the free frames of all memory, shared by all CPUs without a lock.
//!
//! A CPU reserves a block and parks its free frames word by word. After the last word it leaves the block and reserves
//! another. Each block that is not reserved and has free frames has a bit in an index. A handshake of two writes and
//! two reads, all sequentially consistent, ensures this:
//!
//! - A CPU that frees a frame writes the frame's word, then reads the block's word. If the block is not reserved, this
//!   CPU sets the bit.
//! - A CPU that leaves a block writes the block's word, then reads the frames' words. If one is free, this CPU sets the
//!   bit.
//!
//! In the single order of these four operations, either the CPU that frees sees that the block was left, or the CPU
//! that leaves sees the free frame. Bits of blocks without free frames do occur; following one costs a check.
//!
//! Refusals: a CPU that removes a bit then tries to reserve the block. If another CPU holds the block, the first CPU
//! gives up, and relies on the holder to set the bit when it leaves. The holder writes the block's word, then reads the
//! bit, and writes the bit only if it is not set. So the bit may come from a third CPU that was slow, and the CPU that
//! removes it has then not synchronised with the holder. That is why its read of the block's word is sequentially
//! consistent too: in the single order, either the holder reads the bit after its removal, and sets it again; or it read
//! the bit before, and then it has left the block before, and the removing CPU sees that.

use crate::config::DomainId;
use crate::counters::Event;
use crate::error::GetError;
use crate::pool::{Local, Pool};
use crate::pressure::Urgency;
use crate::primitive::order_for_loom;
use crate::state::{ALL_LANES, FRAMES_PER_BLOCK, FRAMES_PER_WORD, Lanes, Offset, Word, lane_of, word_of};
use crate::stock::MAGAZINE;
use core::ops::Range;

/// A block of another CPU with at least this many free frames (a quarter) is preferred to a whole block of this CPU's
/// share. With fewer, the frames that its last home still has out would all come back as foreign frames, for little
/// gain.
const WORTH_TAKING_OVER: u32 = FRAMES_PER_BLOCK / 4;
/// Number of partly free blocks that are searched for the fullest one at each reservation, so that emptier ones can
/// become whole. More would keep slightly more memory whole, at two cache lines each.
const LOOKS: usize = 32;
/// A refill that has this many frames stops searching.
const ENOUGH: u32 = MAGAZINE as u32 / 2;

/// Which blocks to look for.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// Partly free: some frames free, not all.
    Open,
    /// Partly free, with at least a quarter of the frames free.
    Roomy,
    /// Whole: all frames free.
    Whole,
}

impl<'m> Pool<'m> {
    /// Fills the current magazine, which is empty, with at least one frame from the range layer.
    pub(crate) fn refill(&self, local: &Local<'m>, urgency: Urgency) -> Result<(), GetError> {
        if self.refill_from_blocks(local, urgency) {
            return Ok(());
        }
        // Before giving up: the other CPUs' stocks, and the zeroed frames.
        self.drain_stocks(local);
        self.drain_zeroed(local);
        self.refill_from_anywhere(local, urgency)
    }

    /// As `refill`, but neither drains caches nor scans all memory. Returns false if it found nothing.
    pub(crate) fn refill_from_blocks(&self, local: &Local<'m>, urgency: Urgency) -> bool {
        local.count(Event::Refill, 1);
        local.cache.note_refill(self.policy.stock_most);
        loop {
            if let Some((block, words)) = local.cache.reservation() {
                if self.park_from(local, block, words, urgency) > 0 {
                    return true;
                }
                local.cache.set_reservation(None);
                self.leave(block);
            }
            let Some(block) = self.find_another(local, urgency) else { return false };
            local.count(Event::Reservation, 1);
            local.cache.set_reservation(Some(block));
        }
    }

    /// Parks free frames of a reserved block's words in the current magazine. Returns how many.
    fn park_from(&self, local: &Local<'m>, block: u32, words: Range<u32>, urgency: Urgency) -> u32 {
        let Some(domain) = self.blocks.get(block as usize).map(|word| word.glance().domain()) else { return 0 };
        let most = self.refill_most(local, domain, urgency);
        let mut got = 0;
        for (index, word) in self.words(block).iter().enumerate().take(words.end as usize).skip(words.start as usize) {
            if got >= ENOUGH.min(most) {
                break;
            }
            let lanes = word.park_free(ALL_LANES, most - got);
            got += self.push_lanes(local, block * FRAMES_PER_BLOCK + index as u32 * FRAMES_PER_WORD, lanes);
            // A word that may have more free frames is read again next time.
            local.cache.set_cursor(index as u32 + u32::from(got < most));
        }
        self.note_parked(local, domain, got);
        got
    }

    /// Pushes parked frames of the word that begins at `first`, so that the lowest is popped first. Returns how many.
    fn push_lanes(&self, local: &Local<'m>, first: Offset, lanes: Lanes) -> u32 {
        let mut rest = lanes;
        while rest != 0 {
            let highest = 63 - rest.leading_zeros();
            local.cache.push(first + highest / 2);
            rest &= !(1 << highest);
        }
        lanes.count_ones()
    }

    /// Accounts for frames that a refill has parked.
    fn note_parked(&self, local: &Local<'m>, domain: DomainId, count: u32) {
        if count > 0 {
            let event = if domain == local.cache.domain { Event::LocalFrame } else { Event::RemoteFrame };
            local.count(event, u64::from(count));
            self.note_free(local, domain, -i64::from(count));
        }
    }

    /// Ends the reservation of a block. Its holder no longer refers to it.
    pub(crate) fn leave(&self, block: u32) {
        if let Some(word) = self.blocks.get(block as usize) {
            word.leave();
            order_for_loom();
            self.publish(block);
        }
    }

    /// Reserves a block with free frames: from this CPU's share, then its domain, then the other domains.
    fn find_another(&self, local: &Local<'m>, urgency: Urgency) -> Option<u32> {
        let own = local.cache.domain;
        let share = local.cache.share.0..local.cache.share.1;
        let all = |domain: DomainId| self.extents.get(usize::from(domain.0)).map_or(0..0, |extent| extent.blocks());
        if self.allowance(local, own, urgency, MAGAZINE as u64) > 0 {
            let found = self
                .reserve_one(local, own, share.clone(), Look::Open)
                .or_else(|| self.reserve_one(local, own, all(own), Look::Roomy))
                .or_else(|| self.reserve_one(local, own, share, Look::Whole))
                .or_else(|| self.reserve_one(local, own, all(own), Look::Whole))
                .or_else(|| self.reserve_one(local, own, all(own), Look::Open));
            if found.is_some() {
                return found;
            }
        }
        self.others(own).filter(|domain| self.allowance(local, *domain, urgency, MAGAZINE as u64) > 0).find_map(
            |domain| {
                self.reserve_one(local, domain, all(domain), Look::Open)
                    .or_else(|| self.reserve_one(local, domain, all(domain), Look::Whole))
            },
        )
    }

    /// All domains but `own`, starting with the one after it.
    pub(crate) fn others(&self, own: DomainId) -> impl Iterator<Item = DomainId> + use<> {
        let count = self.domains.len() as u8;
        (own.0 + 1..count).chain(0..own.0.min(count)).map(DomainId)
    }

    /// Reserves a block of a domain: the fullest of some partly free ones, or the lowest whole one.
    fn reserve_one(&self, local: &Local<'m>, domain: DomainId, within: Range<u32>, look: Look) -> Option<u32> {
        loop {
            let block = match look {
                Look::Open | Look::Roomy => self.fullest(domain, within.clone(), look)?,
                Look::Whole => self.candidates(domain, within.clone(), look).next()?,
            };
            if self.reserve(local, block) {
                return Some(block);
            }
        }
    }

    fn candidates(&self, domain: DomainId, within: Range<u32>, look: Look) -> impl Iterator<Item = u32> {
        let mut from = within.start;
        core::iter::from_fn(move || {
            let block = match look {
                Look::Open | Look::Roomy => self.open.first(from..within.end, Some(self.whole)),
                Look::Whole => self.whole.first(from..within.end, None),
            }?;
            from = block + 1;
            Some(block)
        })
        .filter(move |&block| self.blocks.get(block as usize).is_some_and(|word| word.glance().domain() == domain))
    }

    fn fullest(&self, domain: DomainId, within: Range<u32>, look: Look) -> Option<u32> {
        let least = if matches!(look, Look::Roomy) { WORTH_TAKING_OVER } else { 0 };
        self.candidates(domain, within, look)
            .take(LOOKS)
            .map(|block| (self.free_in_block(block), block))
            .filter(|&(free, _)| free >= least)
            .min()
            .map(|(_, block)| block)
    }

    fn free_in_block(&self, block: u32) -> u32 {
        self.words(block).iter().map(|word| word.load().free().count_ones()).sum()
    }

    /// Follows a block's bit: removes it, and reserves the block unless another CPU was faster.
    fn reserve(&self, local: &Local<'m>, block: u32) -> bool {
        let (open, whole) = (self.open.remove(block), self.whole.remove(block));
        order_for_loom();
        (open || whole) && self.blocks.get(block as usize).is_some_and(|word| word.reserve(local.number))
    }

    /// Last resort: takes free frames wherever they are, even from blocks that other CPUs have reserved.
    fn refill_from_anywhere(&self, local: &Local<'m>, urgency: Urgency) -> Result<(), GetError> {
        local.count(Event::Scan, 1);
        let mut kept = false;
        let own = |is_own: bool| move |domain: DomainId| (domain == local.cache.domain) == is_own;
        for (block, domain) in self.blocks_of(own(true)).chain(self.blocks_of(own(false))) {
            if self.free_in_block(block) == 0 {
                continue;
            }
            if self.allowance(local, domain, urgency, MAGAZINE as u64) == 0 {
                kept = true;
            } else if self.park_anywhere(local, block, domain, urgency) > 0 {
                return Ok(());
            }
        }
        Err(if kept { GetError::AtMinimum } else { GetError::Exhausted })
    }

    /// Blocks of the domains that `such` selects, with their domain.
    pub(crate) fn blocks_of(&self, such: impl Fn(DomainId) -> bool) -> impl Iterator<Item = (u32, DomainId)> {
        (0..).zip(self.blocks.iter().map(|word| word.glance().domain())).filter(move |(_, domain)| such(*domain))
    }

    fn park_anywhere(&self, local: &Local<'m>, block: u32, domain: DomainId, urgency: Urgency) -> u32 {
        let most = self.refill_most(local, domain, urgency);
        let mut got = 0;
        for (word, first) in
            self.words(block).iter().zip((block * FRAMES_PER_BLOCK..).step_by(FRAMES_PER_WORD as usize))
        {
            let lanes = word.park_free(ALL_LANES, most - got);
            got += self.push_lanes(local, first, lanes);
            if got == most {
                break;
            }
        }
        self.note_parked(local, domain, got);
        got
    }

    /// Frees parked frames that the caller holds, with one step for all frames of a word.
    pub(crate) fn free_parked(&self, local: &Local<'m>, frames: &[Offset]) {
        each_word(frames, |first, lanes| {
            if let Some(word) = self.state_word(first) {
                let after = word.free_parked(lanes);
                self.note_freed(local, first, after, lanes.count_ones());
            }
        });
    }

    /// Frames of a word were freed: accounts for them, and sets the block's bit if needed. `after`: the word's state
    /// after that.
    #[inline]
    pub(crate) fn note_freed(&self, local: &Local<'m>, first: Offset, after: Word, count: u32) {
        let block = first / FRAMES_PER_BLOCK;
        let Some(word) = self.blocks.get(block as usize) else { return };
        order_for_loom();
        let seen = word.load();
        self.note_free(local, seen.domain(), i64::from(count));
        if seen.is_reserved() {
            local.cache.turn_back(block, first % FRAMES_PER_BLOCK / FRAMES_PER_WORD);
        } else if after.is_all_free() {
            self.publish(block);
        } else {
            self.open.insert(block);
        }
    }

    /// Sets an unreserved block's bits. Call it after every step that may have changed them.
    #[inline(never)]
    pub(crate) fn publish(&self, block: u32) {
        if self.blocks.get(block as usize).is_none_or(|word| word.load().is_reserved()) {
            return;
        }
        loop {
            let (mut any, mut all) = (false, true);
            for word in self.words(block) {
                let word = word.load();
                any |= word.free() != 0;
                all &= word.is_all_free();
            }
            if all {
                return self.whole.insert(block);
            }
            if any {
                self.open.insert(block);
            }
            // The block may have become whole meanwhile, and another CPU may have set its bit. We have then just
            // removed that bit, so check again.
            if !self.whole.remove(block) {
                return;
            }
        }
    }
}

/// Calls `each` for each word with the index of one of its frames and the set of all of them. A frame that occurs twice
/// leads to two calls.
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
    use crate::{Config, FixedCpu, FrameNumber, Frames, MemoryArea, Policy};
    use core::mem::MaybeUninit;
    use std::vec;

    /// A CPU leaves a block whose bit is already set, by a CPU that was slow, while another CPU follows that bit. Meant
    /// for Miri, which lets a load return an old value where its ordering permits that: `make test-miri`.
    #[test]
    fn a_late_bit_loses_no_frame() {
        (0..8).for_each(|_| leave_beside_a_late_bit());
    }

    fn leave_beside_a_late_bit() {
        let memory = [MemoryArea { first: FrameNumber(0), frames: 4, domain: DomainId(0) }];
        let config = Config { memory: &memory, cpus: &[DomainId(0); 2], marks: &[], policy: Policy::default() };
        let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
        // SAFETY: each number has one handle, and one thread at a time uses a handle.
        let cpu = |number| unsafe { FixedCpu::new(number) };
        let one = Frames::new(&config, &mut metadata, cpu(0)).unwrap();
        let two = one.on(cpu(1));
        one.get().unwrap();
        one.inside(|pool, _| pool.open.insert(0));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                two.inside(|pool, local| pool.refill_from_blocks(local, Urgency::Normal));
                two.drain_own();
            });
            one.drain_own();
        });
        (0..3).for_each(|_| assert!(one.get().is_ok()));
        assert_eq!(one.counters().of(Event::Scan), 0, "a free frame was lost to the index");
    }
}
