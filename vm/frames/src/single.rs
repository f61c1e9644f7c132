//! Single frames: what a get and a put do when the hit paths of [`Frames`](crate::Frames) do not suffice; zeroed frames; and
//! batches.

use crate::block::BlockWord;
use crate::counters::Event;
use crate::error::{PutError, Refused};
use crate::frame::{Block, FRAMES_PER_WORD, Offset};
use crate::layers::{Layers, Local};
use crate::pressure::Urgency;
use crate::range_layer::each_word;
use crate::search::{Search, Step};
use crate::state::{Lanes, lane_of};
use crate::stock::MAGAZINE;
use core::ops::Range;
use faultline_numbers::FrameNumber;

/// A refill that has this many frames stops searching.
const ENOUGH: u32 = MAGAZINE as u32 / 2;
/// Blocks that a refill reserves in one step, if they turn out to have no free frames.
const REFILL_TRIES: u32 = 4;
/// Size of the groups of a batch within which frames of the same word are put together.
pub(crate) const BATCH: usize = 64;

impl<'m> Layers<'m> {
    /// A step of a get that found the current magazine empty: gets another one, and a frame from it.
    pub(crate) fn get(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        // If this is a later step, the magazine may have been filled meanwhile.
        if local.cache.length() == 0 {
            if local.cache.pop_from_stock() {
                local.count(Event::Restocked, 1);
            } else {
                match self.refill(local, urgency, search) {
                    Step::Found(()) => {}
                    Step::More => return Step::More,
                    Step::Nothing => return Step::Nothing,
                }
            }
        }
        self.pop(local).map_or(Step::Nothing, Step::Found)
    }

    /// Takes a frame of the current magazine.
    pub(crate) fn pop(&self, local: &Local<'m>) -> Option<Offset> {
        let offset = local.cache.pop()?;
        // SAFETY: frames in a magazine are parked by this CPU, or by one that handed the magazine over.
        unsafe { self.range.take_parked(offset) };
        Some(offset)
    }

    /// A step of filling the current magazine, which is empty, with at least one frame from the range layer.
    pub(crate) fn refill(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<()> {
        if *search == Search::default() {
            local.count(Event::Refill, 1);
            local.cache.note_refill();
        }
        for _ in 0..REFILL_TRIES {
            if let Some((block, words)) = local.cache.reservation() {
                if self.park_from(local, block, words, urgency) > 0 {
                    return Step::Found(());
                }
                local.cache.set_reservation(None);
                self.range.leave(block);
            }
            match self.find(local, urgency, search) {
                Step::Found(block) => {
                    local.count(Event::Reservation, 1);
                    local.cache.set_reservation(Some(block));
                }
                Step::More => return Step::More,
                Step::Nothing => return Step::Nothing,
            }
        }
        Step::More
    }

    /// Parks free frames of some of a block's words in the current magazine. Returns how many.
    pub(crate) fn park_from(&self, local: &Local<'m>, block: Block, words: Range<u32>, urgency: Urgency) -> u32 {
        let Some(domain) = self.range.block(block).map(|word| word.glance().domain()) else { return 0 };
        let most = self.refill_most(local, domain, urgency);
        let mut got = 0;
        let all = self.range.words(block).iter().zip(0..);
        for (word, index) in all.take(words.end as usize).skip(words.start as usize) {
            if got >= ENOUGH.min(most) {
                break;
            }
            let lanes = word.park_free(most - got, local.cache.was_filled());
            if got == 0 && most == MAGAZINE as u32 {
                local.cache.note_filled(lanes.count_ones() == most);
            }
            push_lanes(local, block.first() + index * FRAMES_PER_WORD, lanes);
            got += lanes.count_ones();
            // A word that may have more free frames is read again next time.
            local.cache.set_cursor(block, index + u32::from(got < most));
        }
        if got > 0 {
            let event = if domain == local.cache.domain { Event::LocalFrame } else { Event::RemoteFrame };
            local.count(event, u64::from(got));
            self.note_free(local, domain, -i64::from(got));
        }
        got
    }

    /// A step of a get of a frame of one domain, or below a limit. It passes by the cache: reserves a block, takes one frame,
    /// and leaves the block.
    pub(crate) fn get_placed(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        for _ in 0..REFILL_TRIES {
            let block = match self.find(local, urgency, search) {
                Step::Found(block) => block,
                Step::More => return Step::More,
                Step::Nothing => return Step::Nothing,
            };
            let words = self.range.words(block).iter().zip((block.first()..).step_by(FRAMES_PER_WORD as usize));
            let got = words.filter_map(|(word, first)| {
                let lane = word.park_free(1, false);
                (lane != 0).then(|| {
                    word.take_parked(lane);
                    first + lane.trailing_zeros() / 2
                })
            });
            let got = got.take(1).last();
            self.range.leave(block);
            if let Some(offset) = got {
                if let Some(word) = self.range.block(block) {
                    self.note_free(local, word.glance().domain(), -1);
                }
                local.count(Event::PlacedGet, 1);
                return Step::Found(offset);
            }
        }
        Step::More
    }

    /// Handles a foreign frame, a full magazine, or an error.
    ///
    /// If there is no room for it, a frame of a block whose home is this CPU goes straight into the range layer, as a
    /// foreign frame does: one step now, where making room would cost one later. Whether this CPU is the home is tested
    /// last: if frames come back in random order, the CPU would mispredict that branch half the time.
    pub(crate) fn put(&self, local: &Local<'m>, frame: FrameNumber) -> Result<(), PutError> {
        let offset = self.range.offset(frame).ok_or(PutError::OutOfRange)?;
        let block = self.range.block(Block::of(offset)).map(BlockWord::glance);
        let is_home = block.ok_or(PutError::OutOfRange)?.is_home_of(local.number);
        let is_full = !local.cache.has_room();
        if is_full && local.cache.may_make_room() && is_home {
            self.make_room(local);
            return self.put_home(local, offset);
        }
        if !is_full && is_home {
            return self.put_home(local, offset);
        }
        self.put_free(local, offset, is_home)?;
        local.count(Event::PutMiss, u64::from(is_home));
        local.count(Event::ForeignPut, u64::from(!is_home));
        local.cache.note_overflow(is_home);
        Ok(())
    }

    /// Moves the current magazine, which is full, into the stock. If the stock has no place, moves the frames back to
    /// the range layer; as they lie close together, this takes a step or two for all of them.
    fn make_room(&self, local: &Local<'m>) {
        if local.cache.push_to_stock() {
            local.count(Event::Stocked, 1);
        } else {
            local.cache.note_overflow(true);
            self.drain_current(local, local.cache);
        }
    }

    /// Into the cache, which has room. This CPU is the home of the frame's block.
    fn put_home(&self, local: &Local<'m>, offset: Offset) -> Result<(), PutError> {
        // SAFETY: see above.
        unsafe { self.range.park_taken(offset) }.map_err(|state| self.range.refusal(offset, state))?;
        local.cache.push(offset);
        local.count(Event::PutHit, 1);
        Ok(())
    }

    /// Into the range layer.
    #[inline]
    fn put_free(&self, local: &Local<'m>, offset: Offset, is_home: bool) -> Result<(), PutError> {
        let lane = lane_of(offset);
        match self.range.free_taken(offset, lane, is_home) {
            (_, _, Some(freed)) => {
                self.account(local, freed);
                Ok(())
            }
            (before, ..) => Err(self.range.refusal(offset, before.state(lane))),
        }
    }

    /// Takes a zeroed frame of this CPU's domain.
    pub(crate) fn get_zeroed(&self, local: &Local<'m>) -> Option<Offset> {
        let offset = self.zeroed.take(local.cache.domain)?;
        // SAFETY: whoever kept the frame has parked it, and handed it over.
        unsafe { self.range.take_parked(offset) };
        Some(offset)
    }

    /// Takes a frame to zero, if this CPU's domain has an empty slot. It never drains: a drain would empty other CPUs'
    /// caches, and free the frames that are already zeroed.
    pub(crate) fn get_to_zero(&self, local: &Local<'m>) -> Option<Offset> {
        if !self.zeroed.has_room(local.cache.domain) {
            return None;
        }
        local.count(if local.cache.length() > 0 { Event::GetHit } else { Event::GetMiss }, 1);
        match self.get(local, Urgency::Normal, &mut Search::default()) {
            Step::Found(offset) => Some(offset),
            Step::More | Step::Nothing => None,
        }
    }

    /// Keeps a frame that its user has zeroed. Returns false if all slots are full; the frame then still belongs to the
    /// user.
    pub(crate) fn keep_zeroed(&self, local: &Local<'m>, offset: Offset) -> bool {
        let Some(word) = self.range.word(offset) else { return false };
        let lane = lane_of(offset);
        if word.park_taken(lane).is_err() {
            return false;
        }
        let kept = self.zeroed.keep(local.cache.domain, offset);
        if !kept {
            word.take_parked(lane);
        }
        kept
    }

    /// Puts up to [`BATCH`] frames.
    pub(crate) fn put_batch(&self, local: &Local<'m>, frames: &[FrameNumber], refused: &mut Refused) {
        let (mut offsets, mut count, mut done) = ([0; BATCH], 0, 0);
        for &frame in frames {
            match (self.range.offset(frame), offsets.get_mut(count)) {
                (Some(offset), Some(slot)) => {
                    *slot = offset;
                    count += 1;
                }
                _ => refused.add(1, frame, PutError::OutOfRange),
            }
        }
        each_word(offsets.get(..count).unwrap_or(&[]), |first, lanes| {
            done += self.free_lanes(local, first, lanes, refused);
        });
        local.count(Event::BatchPut, done);
    }

    /// taken → free, for frames of a word that the caller claims to own. Returns how many were freed.
    pub(crate) fn free_lanes(&self, local: &Local<'m>, first: Offset, lanes: Lanes, refused: &mut Refused) -> u64 {
        let (before, done, freed) = self.range.free_taken(first, lanes, false);
        if let Some(freed) = freed {
            self.account(local, freed);
        }
        let wrong = lanes & !done;
        if wrong != 0 {
            let offset = first / FRAMES_PER_WORD * FRAMES_PER_WORD + wrong.trailing_zeros() / 2;
            let error = self.range.refusal(offset, before.state(lane_of(offset)));
            refused.add(u64::from(wrong.count_ones()), self.range.number(offset), error);
        }
        u64::from(done.count_ones())
    }
}

/// Pushes parked frames of the word that begins at `first`, so that the lowest is popped first.
fn push_lanes(local: &Local<'_>, first: Offset, lanes: Lanes) {
    let mut rest = lanes;
    while rest != 0 {
        let highest = 63 - rest.leading_zeros();
        local.cache.push(first + highest / 2);
        rest &= !(1 << highest);
    }
}
