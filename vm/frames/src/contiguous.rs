//! Contiguous ranges: finds one by reading the words, parks it word by word, and frees it again if
//! a frame was lost meanwhile.
//!
//! The search reads the words of memory in order, in steps of [`STEP_WORDS`] words; between two
//! steps the caller's CPU may do something else. A short range's places in a word are examined
//! together (`places`). The search breaks a whole block only if no other range fits: in a second
//! pass, if the first one met a whole block. A place of up to [`PIECE`] frames is parked and taken
//! in the step that found it. A longer one is checked, parked and taken piece by piece, each in its
//! own step.

use crate::block::BlockWord;
use crate::config::MOST_DOMAINS;
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::{BatchError, GetError, PutError, Refused};
use crate::frame::{BLOCK_FRAMES, Block, FRAMES_PER_BLOCK, FRAMES_PER_WORD, Offset, RangeRequest};
use crate::frames::Frames;
use crate::layers::Urgency;
use crate::layers::{Layers, Local};
use crate::places::Places;
use crate::range_layer::RangeLayer;
use crate::search::{Pause, Step};
use crate::state::{ALL_LANES, Lanes};
use core::ops::Range;
use faultline_numbers::{DomainId, FrameNumber};

/// Number of words that a step reads: those of 64 blocks, 128 MiB of memory. Takes some
/// microseconds if no word is in a CPU cache.
const STEP_WORDS: u32 = 1024;
/// Number of frames of a range that one step checks, parks, takes or puts.
pub(crate) const PIECE: u64 = 64 * BLOCK_FRAMES;
/// If the min watermark forbids a place, number of blocks behind it that are searched for the end
/// of the domain.
const BLOCKS_BEHIND: u64 = 64;

/// The words that a range covers: for each, the first frame of the range in it, and the set of
/// them.
pub(crate) fn words_of(range: Range<u64>) -> impl Iterator<Item = (Offset, Lanes)> {
    let per_word = u64::from(FRAMES_PER_WORD);
    (range.start / per_word..range.end.div_ceil(per_word)).map(move |word| {
        let first = word * per_word;
        let skip = range.start.saturating_sub(first);
        let count = (range.end - first).min(per_word);
        // At most 32 each, so the shift is at most 64.
        let below = |frames: u64| if frames >= per_word { ALL_LANES } else { ALL_LANES & ((1 << (2 * frames)) - 1) };
        (first as Offset, below(count) & !below(skip))
    })
}

/// A search for a contiguous range, in steps:
/// [`Frames::continue_range`](crate::Frames::continue_range).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeSearch {
    request: RangeRequest,
    /// The next number at which a range may begin.
    next: u64,
    /// Only ranges that touch no whole block; the others come in a second pass.
    spares_whole: bool,
    /// A range was passed over because it touches a whole block.
    has_spared: bool,
    /// A range exists, but a min watermark forbids it.
    is_kept: bool,
}

impl RangeSearch {
    /// Starts at the low bound. Fails if the request is invalid.
    pub fn new(request: &RangeRequest) -> Result<Self, GetError> {
        let spares_whole = request.frames < BLOCK_FRAMES;
        let search = Self { request: *request, next: request.low.0, spares_whole, has_spared: false, is_kept: false };
        if request.is_sound() { Ok(search) } else { Err(GetError::BadRequest) }
    }

    pub(crate) fn frames(&self) -> u64 {
        self.request.frames
    }

    /// True for ranges of more than one piece: a step finds only their place, which is then claimed
    /// piece by piece.
    pub(crate) fn is_long(&self) -> bool {
        self.request.frames > PIECE
    }

    /// Continues behind this frame, at which a claim failed.
    pub(crate) fn lost(&mut self, frame: FrameNumber) {
        self.next = self.next.max(frame.0.saturating_add(1));
    }

    /// The reason why the search found nothing.
    pub(crate) fn error(&self, otherwise: GetError) -> GetError {
        if self.is_kept { GetError::AtMinimum } else { otherwise }
    }
}

impl<'m> Layers<'m> {
    /// A step of a search for a range: takes the lowest one that fits. Of a long range, returns the
    /// lowest place that may fit, as far as the step has checked.
    pub(crate) fn range_step(&self, local: &Local<'m>, urgency: Urgency, search: &mut RangeSearch) -> Step<Offset> {
        let request = search.request;
        let places = Places::of(&request);
        let spans = &self.range.spans;
        let high = request.high.0.min(spans.end());
        let mut left = STEP_WORDS;
        while left > 0 {
            let span = spans.at_or_after(search.next);
            let place = span.and_then(|span| request.next_place(search.next.max(span.base)));
            let end = place.and_then(|place| place.checked_add(request.frames)).filter(|end| *end <= high);
            let (Some(span), Some(place), Some(end)) = (span, place, end) else {
                if !search.spares_whole || !search.has_spared {
                    return Err(Pause::End);
                }
                (search.spares_whole, search.next) = (false, request.low.0);
                continue;
            };
            if end > span.end() {
                left -= 1;
                search.next = span.end();
                continue;
            }
            let offset = |number: u64| span.first + (number - span.base);
            let range = offset(place)..offset(end);
            let last = range.end.saturating_sub(PIECE).max(range.start)..range.end;
            let spared = search.spares_whole.then_some(&mut search.has_spared);
            let blocked = if let Some(blocked) = self.range.blocked(last, spared, &mut left) {
                places.map_or(blocked, |places| self.range.skip_places(&places, blocked, &mut left))
            } else if let Some(last) = self.kept_back(local, urgency, &range) {
                search.is_kept = true;
                last
            } else if search.is_long() {
                search.next = place;
                return Ok(range.start as Offset);
            } else if let Err(lost) = self.park_range(local, range.clone()) {
                lost
            } else {
                self.take_range(local, range.clone());
                local.count(Event::RangeGet, request.frames);
                return Ok(range.start as Offset);
            };
            search.next = span.number_until_end(blocked + 1);
        }
        Err(Pause::More)
    }

    /// If a min watermark forbids this range: the last offset at which a range of this length is
    /// known to be forbidden for the same reason.
    fn kept_back(&self, local: &Local<'m>, urgency: Urgency, range: &Range<u64>) -> Option<u64> {
        let per_block = u64::from(FRAMES_PER_BLOCK);
        let domain_at = |offset: u64| self.range.domain_of(Block::of(offset as Offset));
        let run_end = |from: u64, domain: DomainId, limit: u64| {
            let ends = (from / per_block + 1..).map(|block| block * per_block);
            ends.take_while(|end| *end < limit).find(|end| domain_at(*end) != Some(domain)).unwrap_or(limit)
        };
        let behind = u64::from(self.range.spans.offsets()).min(range.end + BLOCKS_BEHIND * per_block);
        let mut wanted = [0; MOST_DOMAINS];
        let mut kept = None;
        let mut from = if self.domains.has_min() { range.start } else { range.end };
        while from < range.end {
            let domain = domain_at(from)?;
            let end = run_end(from, domain, range.end);
            let sum = wanted.get_mut(usize::from(domain.0))?;
            *sum += end - from;
            let left = self.allowance(local, domain, urgency, *sum);
            if left < end - from {
                // A later range has no fewer frames of this domain's run, until it begins this
                // close to the run's end.
                kept = kept.max(Some(run_end(from, domain, behind) - left - 1));
            } else if left < *sum {
                // For each frame by which a range begins later, it takes at most one frame less
                // from the domain.
                kept = kept.max(Some(range.start + (*sum - left) - 1));
            }
            from = end;
        }
        kept
    }

    /// Parks all of a range or nothing. The error is the offset of a frame that was not free.
    pub(crate) fn park_range(&self, local: &Local<'m>, range: Range<u64>) -> Result<(), u64> {
        for (first, lanes) in words_of(range.clone()) {
            if let Err(missing) = self.range.park_lanes(first, lanes) {
                self.unpark_range(local, range.start..u64::from(first).max(range.start));
                // The call above may have broken this block in vain.
                self.range.publish(Block::of(first));
                return Err(u64::from(first + (63 - missing.leading_zeros()) / 2));
            }
        }
        Ok(())
    }

    /// Frees a parked range. Its frames were not subtracted from the count.
    pub(crate) fn unpark_range(&self, local: &Local<'m>, range: Range<u64>) {
        for (first, lanes) in words_of(range) {
            match self.range.free_parked_lanes(first, lanes) {
                Some(freed) if freed.is_reserved => local.cache.turn_back(freed.block, freed.word),
                _ => {}
            }
        }
    }

    /// Makes a parked range taken, and updates the index for the blocks that it broke.
    pub(crate) fn take_range(&self, local: &Local<'m>, range: Range<u64>) {
        for block in blocks_of(&range) {
            let Some(domain) = self.range.domain_of(block) else { return };
            let part = part_of(block, &range);
            let words = self.range.words(block);
            for (first, lanes) in words_of(part.clone()) {
                if let Some(word) = words.get((first - block.first()) as usize / FRAMES_PER_WORD as usize) {
                    word.take_parked(lanes);
                }
            }
            self.note_free(local, domain, -((part.end - part.start) as i64));
            self.range.publish(block);
        }
    }

    /// Takes back the taken frames of a range, also huge ones and parts of them: at most [`PIECE`]
    /// frames, all in one span or all in none.
    pub(crate) fn put_range(&self, local: &Local<'m>, first: FrameNumber, frames: u64, refused: &mut Refused) {
        let Some(offset) = self.range.offset(first) else {
            return refused.add(frames, first, PutError::OutOfRange);
        };
        let range = u64::from(offset)..u64::from(offset) + frames;
        let mut done = 0;
        for block in blocks_of(&range) {
            let part = part_of(block, &range);
            if part.end - part.start == BLOCK_FRAMES && self.put_all(local, block) {
                done += BLOCK_FRAMES;
                continue;
            }
            // A part of a huge frame; the rest stays taken. Nothing, if it is none.
            if let Some(word) = self.range.block(block) {
                word.split();
            }
            for (first, lanes) in words_of(part) {
                done += self.free_lanes(local, first, lanes, refused);
            }
        }
        local.count(Event::RangePut, done);
    }
}

/// The pieces of a long range, in ascending order.
pub(crate) fn pieces_of(range: &Range<u64>) -> impl DoubleEndedIterator<Item = Range<u64>> + use<> {
    let (first, end) = (range.start, range.end);
    let piece = move |number: u64| (number * PIECE).max(first)..(number * PIECE + PIECE).min(end);
    (first / PIECE..end.div_ceil(PIECE)).map(piece)
}

/// The blocks that a range touches.
pub(crate) fn blocks_of(range: &Range<u64>) -> impl DoubleEndedIterator<Item = Block> + use<> {
    let per_block = u64::from(FRAMES_PER_BLOCK);
    ((range.start / per_block) as u32..range.end.div_ceil(per_block) as u32).map(Block)
}

/// The part of a range that lies in a block.
pub(crate) fn part_of(block: Block, range: &Range<u64>) -> Range<u64> {
    let first = u64::from(block.first());
    range.start.max(first)..range.end.min(first + u64::from(FRAMES_PER_BLOCK))
}

/// Of a word's missing frames, takes the last; returns the last frame before the next free one
/// behind it.
fn last_missing(missing: Lanes, free: Lanes) -> u32 {
    let last = (63 - missing.leading_zeros()) & !1;
    let behind = free.wrapping_shr(last).trailing_zeros().min(64 - last);
    (last + behind) / 2 - 1
}

impl RangeLayer<'_> {
    /// A frame that prevents the range from being taken; every range that begins behind the first
    /// place and up to this frame contains such a frame, too. The last such frame, if known. None
    /// if the range seems free. Subtracts the number of words read from `left`. `spared`: if given,
    /// whole blocks are not free, and it becomes true if one is met.
    pub(crate) fn blocked(&self, range: Range<u64>, mut spared: Option<&mut bool>, left: &mut u32) -> Option<u64> {
        blocks_of(&range).rev().find_map(|block| {
            let part = part_of(block, &range);
            let last = u64::from(block.first()) + BLOCK_FRAMES - 1;
            let state = self.block(block).map(BlockWord::load)?;
            let words = self.words(block);
            *left = left.saturating_sub(1 + (part.end - part.start).div_ceil(u64::from(FRAMES_PER_WORD)) as u32);
            if state.is_huge() || state.is_split() || !state.is_opened() && !state.is_whole() {
                return Some(last);
            }
            let mut spare = || {
                spared.as_deref_mut().map(|spared| {
                    *spared = true;
                    last
                })
            };
            if state.is_whole() {
                return spare();
            }
            let word = |first: Offset| words.get((first - block.first()) as usize / FRAMES_PER_WORD as usize);
            let missing = words_of(part.clone()).filter_map(|(first, lanes)| {
                let free = word(first).map_or(0, |word| word.load().free());
                let missing = lanes & !free;
                (missing != 0).then(|| u64::from(first + last_missing(missing, free)))
            });
            let is_all_free = || words.iter().all(|word| word.load().is_all_free());
            missing.last().or_else(|| if is_all_free() { spare() } else { None })
        })
    }

    /// free → parked, for all frames of `lanes` or none. Opens the block first if it is whole. The
    /// error is the frames that were not free.
    fn park_lanes(&self, first: Offset, lanes: Lanes) -> Result<(), Lanes> {
        self.break_whole(Block::of(first));
        self.word(first).map_or(Err(lanes), |word| word.park_all(lanes))
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns the first frame of a contiguous range. Its frames may be put one by one, in parts,
    /// or as a whole. Searches all memory between the bounds, in steps, then drains caches, and
    /// searches again if that freed frames.
    pub fn get_range(&self, request: &RangeRequest) -> Result<FrameNumber, GetError> {
        self.get_range_as(request, Urgency::Normal)
    }

    /// Returns the first frame of a contiguous range. With [`Urgency::Reserve`] it may go below the
    /// min watermark.
    pub fn get_range_as(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        if let Some(first) = self.range_by_steps(&mut search, urgency)? {
            return Ok(first);
        }
        if self.drain() == 0 {
            self.count_exhausted();
            return Err(search.error(GetError::Exhausted));
        }
        search = RangeSearch::new(request)?;
        let got = self.range_by_steps(&mut search, urgency)?.ok_or(search.error(GetError::Exhausted));
        got.inspect_err(|_| self.count_exhausted())
    }

    fn range_by_steps(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        loop {
            match self.range_step(search, urgency)? {
                Ok(offset) => return Ok(Some(self.number(offset))),
                Err(Pause::More) => {}
                Err(Pause::End) => return Ok(None),
            }
        }
    }

    /// A step of the search. If it finds the place of a long range, claims the range in further
    /// steps.
    fn range_step(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Step<Offset>, GetError> {
        let step = self.held(|layers, local| layers.range_step(local, urgency, search)).ok_or(GetError::NoSuchCpu)?;
        let Ok(offset) = step else { return Ok(step) };
        if search.is_long()
            && let Some(lost) = self.claim_range(offset, search.frames()).ok_or(GetError::NoSuchCpu)?
        {
            search.lost(self.number(lost));
            return Ok(Err(Pause::More));
        }
        Ok(step)
    }

    /// Checks, parks and takes a long range, each in steps of one piece. Checks all of it first, so
    /// that whole blocks are seldom broken in vain. Between two steps its frames are parked for
    /// this call. Returns the offset of a frame that was not free, if there is one; then nothing is
    /// taken. None: no such CPU.
    fn claim_range(&self, first: Offset, frames: u64) -> Option<Option<Offset>> {
        let range = u64::from(first)..u64::from(first) + frames;
        for piece in pieces_of(&range).rev() {
            let mut left = u32::MAX;
            if let Some(lost) = self.held(|layers, _| layers.range.blocked(piece, None, &mut left))? {
                return Some(Some(lost as Offset));
            }
        }
        for piece in pieces_of(&range) {
            let begin = piece.start;
            if let Err(lost) = self.held(|layers, local| layers.park_range(local, piece))? {
                for piece in pieces_of(&(range.start..begin)) {
                    self.held(|layers, local| layers.unpark_range(local, piece))?;
                }
                return Some(Some(lost as Offset));
            }
        }
        for piece in pieces_of(&range) {
            self.held(|layers, local| layers.take_range(local, piece))?;
        }
        self.held(|_, local| local.count(Event::RangeGet, frames))?;
        Some(None)
    }

    /// As [`get_range_as`](Self::get_range_as), but drains nothing and makes only the first step of
    /// the search.
    pub fn try_get_range(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        match self.continue_range(&mut search, urgency) {
            Ok(None) => Err(search.error(GetError::NotAtHand)),
            Ok(Some(first)) => Ok(first),
            Err(error) => Err(error),
        }
    }

    /// Makes one step of a search for a range: reads the words of 64 blocks. A possible place of
    /// more than 64 blocks is then checked, parked and taken, in three steps per 64 blocks. Returns
    /// none if the search can be continued. After the last step, fails with [`GetError::NotAtHand`]
    /// or [`GetError::AtMinimum`]; the missing frames may be in caches.
    pub fn continue_range(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        match self.range_step(search, urgency)? {
            Ok(offset) => Ok(Some(self.number(offset))),
            Err(Pause::More) => Ok(None),
            Err(Pause::End) => Err(search.error(GetError::NotAtHand)),
        }
    }

    /// Takes a contiguous range of taken frames back, whatever kind they were got as: singly, in
    /// runs or ranges, or as huge frames. A huge frame that lies only partly in the range is split;
    /// its other frames stay taken. The error counts the refused frames; all others are taken back.
    /// Works in steps of 64 blocks.
    pub fn put_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        self.put_in_steps(first, frames, Layers::put_range)
    }

    /// Puts a range by calls of `put`, each for at most 64 blocks and pinned by itself.
    pub(crate) fn put_in_steps(
        &self,
        first: FrameNumber,
        frames: u64,
        put: impl Fn(&Layers<'m>, &Local<'m>, FrameNumber, u64, &mut Refused),
    ) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        let (mut first, mut left) = (first, frames);
        while left > 0 {
            let step = left.min(self.put_step(first));
            let done = self.held(|layers, local| {
                let before = refused.count();
                put(layers, local, first, step, &mut refused);
                local.count(Event::Refused, refused.count() - before);
            });
            if done.is_none() {
                refused.add(step, first, PutError::NoSuchCpu);
            }
            (first, left) = (FrameNumber(first.0.saturating_add(step)), left - step);
        }
        refused.result()
    }

    /// Number of frames from `first` on that one step puts. Frames outside all spans are refused in
    /// one step.
    pub(crate) fn put_step(&self, first: FrameNumber) -> u64 {
        match self.layers.range.spans.at_or_after(first.0) {
            None => u64::MAX,
            Some(span) if first.0 < span.base => span.base - first.0,
            Some(span) => (PIECE - first.0 % BLOCK_FRAMES).min(span.end() - first.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lane_of;

    #[test]
    fn words_that_a_range_covers() {
        let covered: std::vec::Vec<_> = words_of(30..97).map(|(first, lanes)| (first, lanes.count_ones())).collect();
        assert_eq!(covered, [(0, 2), (32, 32), (64, 32), (96, 1)]);
        assert_eq!(words_of(3..5).next(), Some((0, 1 << 6 | 1 << 8)));
        assert_eq!(words_of(64..64).next(), None);
    }

    #[test]
    fn pieces_cover_a_range_once() {
        let pieces: std::vec::Vec<_> = pieces_of(&(PIECE - 5..3 * PIECE + 1)).collect();
        assert_eq!(pieces, [PIECE - 5..PIECE, PIECE..2 * PIECE, 2 * PIECE..3 * PIECE, 3 * PIECE..3 * PIECE + 1]);
    }

    #[test]
    fn frames_behind_a_missing_one_are_missing_too() {
        let free = lane_of(3) | lane_of(9);
        assert_eq!(
            [lane_of(0), lane_of(0) | lane_of(2), lane_of(5)].map(|missing| last_missing(missing, free)),
            [2, 2, 8]
        );
        assert_eq!([last_missing(lane_of(20), free), last_missing(lane_of(31), 0), last_missing(1, 0)], [31; 3]);
        assert_eq!(last_missing(lane_of(30), lane_of(31)), 30);
    }
}
