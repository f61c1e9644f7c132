//! Places at which a range may begin: their numbers, and within a word those of short ranges.
//!
//! A search for a short range passes over the places of a word with a few instructions, however
//! many of them are blocked. So a search that finds nothing reads each word about once, also where
//! every second frame is taken.

use crate::frame::{Block, FRAMES_PER_BLOCK, FRAMES_PER_WORD, Offset, RangeRequest};
use crate::range_layer::RangeLayer;
use crate::state::{ALL_LANES, Lanes};

/// Maximum number of frames of a short range. It touches at most two words.
const SHORT: u64 = FRAMES_PER_WORD as u64;

impl RangeRequest {
    pub(crate) fn is_sound(&self) -> bool {
        self.frames > 0
            && self.alignment.is_power_of_two()
            && (self.boundary == 0 || self.boundary.is_power_of_two() && self.boundary >= self.frames)
    }

    /// The lowest number from `first` on at which the range may begin.
    pub(crate) fn next_place(&self, first: u64) -> Option<u64> {
        let aligned = first.checked_next_multiple_of(self.alignment)?;
        let last = aligned.checked_add(self.frames - 1)?;
        if self.boundary == 0 || aligned / self.boundary == last / self.boundary {
            return Some(aligned);
        }
        // The boundary is a power of two and at least as long as the range, so a range at its next
        // multiple crosses none. If the alignment is larger still, each aligned number is such a
        // multiple.
        aligned.checked_next_multiple_of(self.boundary)?.checked_next_multiple_of(self.alignment)
    }
}

/// The places of a short range within a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    frames: u64,
    /// The frames of a word at which the range may begin. Spans begin with a block, so these are
    /// the same in each word; larger alignments and boundaries are checked later.
    begins: Lanes,
}

impl Places {
    /// None for a long range.
    pub(crate) fn of(request: &RangeRequest) -> Option<Self> {
        let &RangeRequest { frames, alignment, boundary, .. } = request;
        let is_aligned = |place: &u64| place & (alignment.min(SHORT) - 1) == 0;
        let is_within = |place: &u64| {
            let may_cross = boundary == 0 || boundary > SHORT;
            may_cross || (place & (boundary - 1)) + frames <= boundary
        };
        let places = (0..SHORT).filter(is_aligned).filter(is_within);
        let begins = places.fold(0, |begins, place| begins | 1 << (2 * place));
        (frames <= SHORT).then_some(Self { frames, begins })
    }

    /// The places of a word from which on enough frames are free. `behind`: the free frames of the
    /// next word.
    fn fit(&self, free: Lanes, behind: Lanes) -> Lanes {
        let mut runs = u128::from(free) | u128::from(behind) << 64;
        let mut length = 1;
        while length < self.frames {
            let step = length.min(self.frames - length);
            runs &= runs.wrapping_shr(2 * step as u32);
            length += step;
        }
        runs as u64 & self.begins
    }
}

impl RangeLayer<'_> {
    /// The last frame of a block, from `blocked` on, up to which no range can begin. The next place
    /// follows it, perhaps in the next block. Subtracts the number of words read from `left`.
    pub(crate) fn skip_places(&self, places: &Places, blocked: u64, left: &mut u32) -> u64 {
        let block = Block::of(blocked as Offset);
        let first = u64::from(block.first());
        let words = self.words(block);
        let free = |word: usize| words.get(word).map(|word| word.load().free());
        let next = blocked + 1 - first;
        let mut skip = (next % SHORT) as u32;
        for word in (next / SHORT) as usize..words.len() {
            *left = left.saturating_sub(1);
            // The next block's frames may be free.
            let fit = places.fit(free(word).unwrap_or(0), free(word + 1).unwrap_or(ALL_LANES));
            let fit = fit & u64::MAX.wrapping_shl(2 * skip);
            if fit != 0 {
                return first + word as u64 * SHORT + u64::from(fit.trailing_zeros() / 2) - 1;
            }
            skip = 0;
        }
        if words.is_empty() { blocked } else { first + u64::from(FRAMES_PER_BLOCK) - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Each place of each word, against a loop over its frames.
    #[test]
    fn places_of_a_word_are_those_that_fit() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut free = || {
            let mut more = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed ^ seed >> 29
            };
            (more() | more()) & ALL_LANES
        };
        for frames in 1..=SHORT + 1 {
            for alignment in [1, 2, 8, 32, 512] {
                for boundary in [0, 8, 32, 64, 1024] {
                    let request = RangeRequest { alignment, boundary, ..RangeRequest::of(frames) };
                    let places = Places::of(&request).filter(|_| request.is_sound());
                    assert!(places.is_some() == (frames <= SHORT) || !request.is_sound());
                    let Some(places) = places else { continue };
                    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
                        let (word, behind) = (free(), free() | free());
                        let is_free =
                            |frame: u64| [word, behind][(frame / SHORT) as usize] >> (2 * (frame % SHORT)) & 1 == 1;
                        let fits = |place: u64| {
                            (place..place + frames).all(is_free)
                                && place.is_multiple_of(alignment.min(SHORT))
                                && (boundary == 0 || boundary > SHORT || place % boundary + frames <= boundary)
                        };
                        let expected =
                            (0..SHORT).filter(|place| fits(*place)).fold(0, |all, place| all | 1 << (2 * place));
                        assert_eq!(places.fit(word, behind), expected, "{request:?}, {word:x}, {behind:x}");
                    }
                }
            }
        }
    }
}
