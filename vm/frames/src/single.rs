//! Single frames: gets, puts and batches. The hit paths are in [`Frames`]; misses continue with the
//! steps of [`Layers`].

use crate::block::BlockWord;
use crate::counters::Event;
use crate::cpu::{CurrentCpu, PinnedCpu};
use crate::error::{BatchError, GetError, PutError, Refused};
use crate::frame::{Block, FRAMES_PER_WORD, Offset};
use crate::frames::Frames;
use crate::layers::Urgency;
use crate::layers::{Layers, Local};
use crate::range_layer::each_word;
use crate::search::{Pause, Scan};
use crate::search::{Search, Step};
use crate::state::{Lanes, lane_of};
use crate::stock::MAGAZINE;
use core::ops::Range;
use faultline_numbers::{DomainId, FrameNumber};

/// A refill that has this many frames stops searching.
const ENOUGH: u32 = MAGAZINE as u32 / 2;
/// Maximum number of blocks that a refill reserves in one step if they have no free frames.
const REFILL_TRIES: u32 = 4;
/// Number of frames of a batch that are grouped by word together.
const BATCH: usize = 64;

impl<'m> Layers<'m> {
    /// A step of a get that found the current magazine empty: gets another one, and a frame from
    /// it.
    pub(crate) fn get(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        // In a later step, the magazine may have been filled meanwhile.
        if local.cache.length() == 0 {
            if local.cache.pop_from_stock() {
                local.count(Event::Restocked, 1);
            } else {
                self.refill(local, urgency, search)?;
            }
        }
        self.pop(local).ok_or(Pause::End)
    }

    /// Takes a frame of the current magazine.
    pub(crate) fn pop(&self, local: &Local<'m>) -> Option<Offset> {
        let offset = local.cache.pop()?;
        // SAFETY: frames in a magazine are parked by this CPU, or by one that handed the magazine
        // over.
        unsafe { self.range.take_parked(offset) };
        Some(offset)
    }

    /// A step of filling the empty current magazine with at least one frame from the range layer.
    pub(crate) fn refill(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<()> {
        if *search == Search::default() {
            local.count(Event::Refill, 1);
            local.cache.note_refill();
        }
        for _ in 0..REFILL_TRIES {
            if let Some((block, words)) = local.cache.reservation() {
                if self.park_from(local, block, words, urgency) > 0 {
                    return Ok(());
                }
                local.cache.set_reservation(None);
                self.range.leave(block);
            }
            let block = self.find(local, urgency, search)?;
            local.count(Event::Reservation, 1);
            local.cache.set_reservation(Some(block));
        }
        Err(Pause::More)
    }

    /// Parks free frames of some of a block's words in the current magazine. Returns their number.
    pub(crate) fn park_from(&self, local: &Local<'m>, block: Block, words: Range<u32>, urgency: Urgency) -> u32 {
        let Some(domain) = self.range.domain_of(block) else { return 0 };
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

    /// A step of a get from one domain or below a limit. Bypasses the cache: reserves a block,
    /// takes one frame, and leaves the block.
    pub(crate) fn get_placed(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        for _ in 0..REFILL_TRIES {
            let block = self.find(local, urgency, search)?;
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
                if let Some(domain) = self.range.domain_of(block) {
                    self.note_free(local, domain, -1);
                }
                local.count(Event::PlacedGet, 1);
                return Ok(offset);
            }
        }
        Err(Pause::More)
    }

    /// Handles a foreign frame, a full magazine, or an error.
    ///
    /// If there is no room for it, a frame of a block whose home is this CPU goes straight into the
    /// range layer, like a foreign frame: one step now instead of one later for making room. The
    /// home is tested last: if frames come back in random order, the CPU would mispredict that
    /// branch half the time.
    pub(crate) fn put(&self, local: &Local<'m>, frame: FrameNumber) -> Result<(), PutError> {
        let offset = self.range.offset(frame).ok_or(PutError::OutOfRange)?;
        let block = self.range.block(Block::of(offset)).map(BlockWord::glance);
        let block = block.ok_or(PutError::OutOfRange)?;
        if block.is_split() {
            // Relaxed is enough: who has the frame learnt of the split, or of a later state.
            self.range.open_split(Block::of(offset));
        }
        let is_home = block.is_home_of(local.number);
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

    /// Moves the full current magazine into the stock. If the stock has no place, moves the frames
    /// back to the range layer; as they lie close together, this takes a step or two for all of
    /// them.
    fn make_room(&self, local: &Local<'m>) {
        if local.cache.push_to_stock() {
            local.count(Event::Stocked, 1);
        } else {
            local.cache.note_overflow(true);
            self.drain_current(local, local.cache);
        }
    }

    /// Puts a frame into the cache, which has room. This CPU is the home of the frame's block.
    fn put_home(&self, local: &Local<'m>, offset: Offset) -> Result<(), PutError> {
        // SAFETY: see above.
        unsafe { self.range.park_taken(offset) }.map_err(|state| self.range.refusal(offset, state))?;
        local.cache.push(offset);
        local.count(Event::PutHit, 1);
        Ok(())
    }

    /// Puts a frame into the range layer.
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

    /// taken → free, for frames of a word that the caller claims to own. Returns the number freed.
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

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns a frame, mostly from this CPU's cache. If the index has none either, drains other
    /// CPUs' caches and scans memory, in steps. Fails if no frame is free, or if the free ones are
    /// reserved for urgent callers.
    #[inline]
    pub fn get(&self) -> Result<FrameNumber, GetError> {
        self.get_as(Urgency::Normal)
    }

    /// Returns a frame. With [`Urgency::Reserve`] it may go below the min watermark.
    #[inline]
    pub fn get_as(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let pinned = self.cpu.pin();
        match self.get_at_hand(&pinned) {
            Some(frame) => Ok(frame),
            None => self.get_missed(pinned, urgency),
        }
    }

    /// As [`get_as`](Self::get_as), but drains no cache and scans no memory: fails if neither this
    /// CPU's cache nor the index has a frame. The error says whether a watermark is the reason.
    #[inline]
    pub fn try_get(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let pinned = self.cpu.pin();
        match self.get_at_hand(&pinned) {
            Some(frame) => Ok(frame),
            None => self.get_from_index(pinned, urgency).inspect_err(|_| self.count_exhausted()),
        }
    }

    /// Returns a frame of this domain only. Searches only the index and bypasses the CPU's cache,
    /// so it costs about ten times as much as a get that hits. To fall back on other domains, call
    /// it for those of [`nearest`](Self::nearest).
    pub fn get_in(&self, domain: DomainId, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.get_placed(urgency, Search::only(domain))
    }

    /// Returns a frame below a limit, for devices with few address bits, from the nearest domain
    /// that has one. Searches only the index and bypasses the CPU's cache, as
    /// [`get_in`](Self::get_in) does. The limit is rounded down to 2 MiB. Other gets take low
    /// frames, too; to keep some, make them a domain of their own with a min watermark.
    pub fn get_below(&self, limit: FrameNumber, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.get_placed(urgency, Search::below(self.layers.range.spans.blocks_below(limit.0)))
    }

    fn get_placed(&self, urgency: Urgency, mut search: Search) -> Result<FrameNumber, GetError> {
        let got = self.by_steps(|layers, local| layers.get_placed(local, urgency, &mut search))?;
        got.ok_or_else(|| search.error()).inspect_err(|_| self.count_exhausted())
    }

    /// Returns a frame of the current magazine.
    #[inline(always)]
    fn get_at_hand(&self, pinned: &C::Pinned) -> Option<FrameNumber> {
        let cache = self.layers.cache(pinned.number())?;
        let offset = cache.pop()?;
        // SAFETY: frames in a magazine are parked by its CPU, or by one that handed the magazine
        // over.
        unsafe { self.layers.range.take_parked(offset) };
        cache.counts.add(Event::GetHit, 1);
        Some(self.number(offset))
    }

    #[cold]
    fn get_missed(&self, pinned: C::Pinned, urgency: Urgency) -> Result<FrameNumber, GetError> {
        match self.get_from_index(pinned, urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                self.get_from_anywhere(urgency).inspect_err(|_| self.count_exhausted())
            }
            got => got,
        }
    }

    fn get_from_index(&self, pinned: C::Pinned, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = Search::default();
        let first = self.held_by(pinned, |layers, local| {
            local.count(Event::GetMiss, 1);
            layers.get(local, urgency, &mut search)
        });
        let got = match first.ok_or(GetError::NoSuchCpu)? {
            Ok(offset) => Some(self.number(offset)),
            Err(Pause::More) => self.by_steps(|layers, local| layers.get(local, urgency, &mut search))?,
            Err(Pause::End) => None,
        };
        got.ok_or_else(|| search.error())
    }

    /// Drains caches, and tries again after each step that freed something; then takes a free frame
    /// from anywhere.
    #[cold]
    fn get_from_anywhere(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get(local, urgency, search)))?;
        if let Some(frame) = got {
            return Ok(frame);
        }
        let mut scan = Scan::default();
        let got = self.by_steps(|layers, local| layers.scan(local, urgency, &mut scan))?;
        got.ok_or_else(|| scan.error())
    }

    /// Takes a frame back. On an error nothing has changed.
    #[inline]
    pub fn put(&self, frame: FrameNumber) -> Result<(), PutError> {
        let pinned = self.cpu.pin();
        let number = pinned.number();
        if let Some(cache) = self.layers.cache(number)
            && cache.has_room()
            && let Some(offset) = self.layers.range.offset(frame)
            && let Some(block) = self.layers.range.block(Block::of(offset))
            && block.glance().is_home_of(number)
            // SAFETY: this CPU is the home of the frame's block.
            && unsafe { self.layers.range.park_taken(offset) }.is_ok()
        {
            cache.push(offset);
            cache.counts.add(Event::PutHit, 1);
            return Ok(());
        }
        self.put_missed(pinned, frame)
    }

    #[inline(never)]
    fn put_missed(&self, pinned: C::Pinned, frame: FrameNumber) -> Result<(), PutError> {
        self.held_by(pinned, |layers, local| layers.put(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Fills `frames`, as far as [`try_get`](Self::try_get) finds frames. Returns their number.
    /// Fails only if there is none.
    pub fn get_batch(&self, urgency: Urgency, frames: &mut [FrameNumber]) -> Result<usize, GetError> {
        for (got, frame) in frames.iter_mut().enumerate() {
            match self.try_get(urgency) {
                Ok(number) => *frame = number,
                Err(error) if got == 0 => return Err(error),
                Err(_) => return Ok(got),
            }
        }
        Ok(frames.len())
    }

    /// Takes frames back straight into the range layer, with one step for all frames of the same
    /// word. Sorted input is best. For the memory of an exiting process. The error counts the
    /// refused frames; all others are taken back. Works in steps of 64 frames.
    pub fn put_batch(&self, frames: &[FrameNumber]) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        for batch in frames.chunks(BATCH) {
            let put = self.held(|layers, local| {
                let before = refused.count();
                layers.put_batch(local, batch, &mut refused);
                local.count(Event::Refused, refused.count() - before);
            });
            if put.is_none() {
                let first = batch.first().copied().unwrap_or(FrameNumber(0));
                refused.add(batch.len() as u64, first, PutError::NoSuchCpu);
            }
        }
        refused.result()
    }
}
