//! Contiguous ranges: finds one by reading the words, parks it word by word, and gives it back if a frame was lost on
//! the way.
//!
//! This is a slow path: it reads the words of memory in order. It breaks a whole block only if no other range fits.

use crate::config::{DomainId, MOST_DOMAINS};
use crate::counters::Event;
use crate::error::{BatchError, GetError, PutError};
use crate::frame::{FrameNumber, HUGE_FRAMES, RangeRequest};
use crate::pool::{Local, Pool};
use crate::pressure::Urgency;
use crate::state::{ALL_LANES, FRAMES_PER_BLOCK, FRAMES_PER_WORD, Lanes, Offset, Word, lane_of};
use core::cell::Cell;
use core::ops::Range;

/// The frames of each word that a range covers: the word's first such frame, and the set of them.
fn words_of(range: Range<u64>) -> impl Iterator<Item = (Offset, Lanes)> {
    let per_word = u64::from(FRAMES_PER_WORD);
    (range.start / per_word..range.end.div_ceil(per_word)).map(move |word| {
        let first = word * per_word;
        let skip = range.start.saturating_sub(first);
        let count = (range.end - first).min(per_word);
        // At most 32 each: shifted by at most 64.
        let below = |frames: u64| if frames >= per_word { ALL_LANES } else { ALL_LANES & ((1 << (2 * frames)) - 1) };
        (first as Offset, below(count) & !below(skip))
    })
}

impl RangeRequest {
    fn is_sound(&self) -> bool {
        self.frames > 0
            && self.alignment.is_power_of_two()
            && (self.boundary == 0 || self.boundary.is_power_of_two() && self.boundary >= self.frames)
    }

    /// The lowest number at or after `first` at which the range may begin.
    fn next_place(&self, first: u64) -> Option<u64> {
        let aligned = first.checked_next_multiple_of(self.alignment)?;
        let last = aligned.checked_add(self.frames - 1)?;
        if self.boundary == 0 || aligned / self.boundary == last / self.boundary {
            return Some(aligned);
        }
        // The boundary is a power of two that is at least as long as the range, so a range at its next multiple crosses
        // none. If the alignment is larger still, each aligned number is such a multiple.
        aligned.checked_next_multiple_of(self.boundary)?.checked_next_multiple_of(self.alignment)
    }
}

impl<'m> Pool<'m> {
    /// Takes a range; returns the offset of its first frame.
    pub(crate) fn get_range(&self, local: &Local<'m>, request: &RangeRequest) -> Result<Offset, GetError> {
        if !request.is_sound() {
            return Err(GetError::BadRequest);
        }
        let kept = Cell::new(false);
        let got = self.range_by_look(local, request, &kept).or_else(|| {
            // Frames in caches may be all that is missing.
            self.drain_all(local);
            kept.set(false);
            self.range_by_look(local, request, &kept)
        });
        if got.is_none() {
            local.count(Event::Exhausted, 1);
        }
        let first = got.ok_or(if kept.get() { GetError::AtMinimum } else { GetError::Exhausted })?;
        local.count(Event::RangeGet, request.frames);
        Ok(first)
    }

    /// Sets `kept` if a range exists but the min watermark forbids it.
    fn range_by_look(&self, local: &Local<'m>, request: &RangeRequest, kept: &Cell<bool>) -> Option<Offset> {
        let broken = if request.frames < HUGE_FRAMES { self.range_in(local, request, true, kept) } else { None };
        broken.or_else(|| self.range_in(local, request, false, kept))
    }

    /// Takes the lowest range that fits. `spare_whole`: only ranges that touch no whole block.
    fn range_in(
        &self,
        local: &Local<'m>,
        request: &RangeRequest,
        spare_whole: bool,
        kept: &Cell<bool>,
    ) -> Option<Offset> {
        let low = request.low.0.max(self.base);
        let high = request.high.0.min(self.base + u64::from(self.span));
        let mut place = request.next_place(low)?;
        while place.checked_add(request.frames)? <= high {
            let range = place - self.base..place - self.base + request.frames;
            let blocked = if let Some(blocked) = self.blocked(range.clone(), spare_whole) {
                blocked
            } else if let Some(last) = self.kept_back(local, &range) {
                kept.set(true);
                last
            } else if let Err(lost) = self.park_range(local, range.clone()) {
                lost
            } else {
                self.take_range(local, range.clone());
                return Some(range.start as Offset);
            };
            place = request.next_place(self.base + blocked + 1)?;
        }
        None
    }

    /// If a min watermark forbids this range: the last offset at which a range of this length would be forbidden for
    /// the same reason.
    fn kept_back(&self, local: &Local<'m>, range: &Range<u64>) -> Option<u64> {
        let per_block = u64::from(FRAMES_PER_BLOCK);
        let domain_at = |offset: u64| self.block(offset as Offset).map(|block| block.glance().domain());
        let run_end = |from: u64, domain: DomainId, limit: u64| {
            let ends = (from / per_block + 1..).map(|block| block * per_block);
            ends.take_while(|end| *end < limit).find(|end| domain_at(*end) != Some(domain)).unwrap_or(limit)
        };
        let mut wanted = [0; MOST_DOMAINS];
        let mut kept = None;
        let mut from = if self.has_min() { range.start } else { range.end };
        while from < range.end {
            let domain = domain_at(from)?;
            let end = run_end(from, domain, range.end);
            let sum = wanted.get_mut(usize::from(domain.0))?;
            *sum += end - from;
            let left = self.allowance(local, domain, Urgency::Normal, *sum);
            if left < end - from {
                // A range that begins later has no fewer frames of this domain's run, until it begins this close to the
                // run's end.
                kept = kept.max(Some(run_end(from, domain, u64::from(self.span)) - left - 1));
            } else if left < *sum {
                // For each frame that a range begins later, it takes at most one frame less from the domain.
                kept = kept.max(Some(range.start + (*sum - left) - 1));
            }
            from = end;
        }
        kept
    }

    /// The last frame that prevents the range from being taken; none if the range seems free.
    fn blocked(&self, range: Range<u64>, spare_whole: bool) -> Option<u64> {
        let taken = words_of(range.clone()).filter_map(|(first, lanes)| {
            let missing = lanes & !self.state_word(first).map_or(0, |word| word.load().free());
            (missing != 0).then(|| u64::from(first + (63 - missing.leading_zeros()) / 2))
        });
        taken.last().or_else(|| {
            let per_block = u64::from(FRAMES_PER_BLOCK);
            let blocks = range.start / per_block..range.end.div_ceil(per_block);
            let whole = |block: &u64| self.words(*block as u32).iter().all(|word| word.load().is_all_free());
            let last = blocks.rev().find(|block| spare_whole && whole(block))?;
            Some((last * per_block + per_block).min(range.end) - 1)
        })
    }

    /// Parks all of a range or nothing; in that case returns the offset of a frame that was not free.
    fn park_range(&self, local: &Local<'m>, range: Range<u64>) -> Result<(), u64> {
        for (first, lanes) in words_of(range.clone()) {
            let Some(word) = self.state_word(first) else { return Err(u64::from(first)) };
            if let Err(missing) = word.park_all(lanes) {
                for (first, lanes) in words_of(range.start..u64::from(first).max(range.start)) {
                    if let Some(word) = self.state_word(first) {
                        let after = word.free_parked(lanes);
                        // Nothing had been subtracted from the count.
                        self.note_freed(local, first, after, 0);
                    }
                }
                return Err(u64::from(first + (63 - missing.leading_zeros()) / 2));
            }
        }
        Ok(())
    }

    /// Turns a parked range into a taken one, and updates the index for the blocks that it broke.
    fn take_range(&self, local: &Local<'m>, range: Range<u64>) {
        for (first, lanes) in words_of(range.clone()) {
            let (Some(word), Some(block)) = (self.state_word(first), self.block(first)) else { return };
            word.take_parked(lanes);
            self.note_free(local, block.glance().domain(), -i64::from(lanes.count_ones()));
        }
        let per_block = u64::from(FRAMES_PER_BLOCK);
        for block in range.start / per_block..range.end.div_ceil(per_block) {
            self.publish(block as u32);
        }
    }

    /// Takes back those frames of a range that are taken.
    pub(crate) fn put_range(&self, local: &Local<'m>, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        let (low, high) = (self.base, self.base + u64::from(self.span));
        let end = first.0.saturating_add(frames);
        // `clamp` would panic if `high` were below `low`, and the compiler cannot exclude that.
        let range = first.0.max(low).min(high)..end.max(low).min(high);
        let outside = frames - (range.end - range.start);
        if outside > 0 {
            let frame = if first.0 < low || first.0 >= high { first } else { FrameNumber(high) };
            refused.add(outside, frame, PutError::OutOfRange);
        }
        if range.is_empty() {
            return refused.result(local);
        }
        let mut done = 0;
        for (first, lanes) in words_of(range.start - low..range.end - low) {
            done += self.free_lanes(local, first, lanes, &mut refused);
        }
        local.count(Event::RangePut, done);
        refused.result(local)
    }

    /// taken → free, for frames of a word that the caller claims to own. Returns how many were freed.
    pub(crate) fn free_lanes(&self, local: &Local<'m>, first: Offset, lanes: Lanes, refused: &mut Refused) -> u64 {
        let word_first = first / FRAMES_PER_WORD * FRAMES_PER_WORD;
        let Some(word) = self.state_word(first) else { return 0 };
        let (before, freed) = word.free_taken(lanes);
        if freed != 0 {
            self.note_freed(local, first, Word(before.0 ^ freed), freed.count_ones());
        }
        let wrong = lanes & !freed;
        if wrong != 0 {
            let offset = word_first + wrong.trailing_zeros() / 2;
            let error = self.refusal(offset, before.state(lane_of(offset)));
            refused.add(u64::from(wrong.count_ones()), self.number(offset), error);
        }
        u64::from(freed.count_ones())
    }
}

/// The refusals so far.
#[derive(Debug, Default)]
pub(crate) struct Refused(Option<BatchError>);

impl Refused {
    pub(crate) fn add(&mut self, count: u64, frame: FrameNumber, error: PutError) {
        self.0.get_or_insert(BatchError { refused: 0, frame, error }).refused += count;
    }

    pub(crate) fn result(self, local: &Local<'_>) -> Result<(), BatchError> {
        self.0.map_or(Ok(()), |error| {
            local.count(Event::Refused, error.refused);
            Err(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_range_covers() {
        let covered: std::vec::Vec<_> = words_of(30..97).map(|(first, lanes)| (first, lanes.count_ones())).collect();
        assert_eq!(covered, [(0, 2), (32, 32), (64, 32), (96, 1)]);
        assert_eq!(words_of(3..5).next(), Some((0, 1 << 6 | 1 << 8)));
        assert_eq!(words_of(64..64).next(), None);
    }

    #[test]
    fn places_are_aligned_and_cross_no_boundary() {
        let request = RangeRequest { alignment: 8, boundary: 64, ..RangeRequest::of(24) };
        assert_eq!(request.next_place(1), Some(8));
        assert_eq!(request.next_place(41), Some(64));
        assert_eq!(RangeRequest { alignment: 256, ..request }.next_place(1), Some(256));
        assert_eq!(RangeRequest { frames: 64, ..request }.next_place(1), Some(64));
        assert_eq!(request.next_place(u64::MAX), None);
        assert!(!RangeRequest { boundary: 16, ..request }.is_sound());
        assert!(!RangeRequest { alignment: 3, ..request }.is_sound());
        assert!(!RangeRequest::of(0).is_sound());
    }
}
