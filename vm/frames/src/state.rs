//! The state of each frame: 2 bits, in words of 32 frames. Each permitted change is a single step
//! on a word.
//!
//! | bits | state | owner |
//! |---|---|---|
//! | 00 | free | the range layer: any CPU may park it |
//! | 01 | taken | a user, until it is put |
//! | 11 | parked | its holder: the CPU cache, magazine, slot or call that parked it |
//! | 10 | closed | none: in a hole, or part of a huge frame, as its block's word says |
//!
//! Every step from free or taken is a compare-and-swap, because other CPUs may try the same step.
//! This detects double frees. Only its holder changes a parked frame, so the holder can flip its
//! bits without a check.
//!
//! Orderings: putting a frame releases what its user wrote in it, and getting it acquires that.
//! Each step on a frame is a read-modify-write of its word, so the later step continues the release
//! sequence of the earlier one, whatever lies between them. Steps that make frames free, or park
//! free ones, are sequentially consistent, as the handshake with a block's reservation requires
//! (see `range_layer`).
//!
//! The words are made when a block is opened for the first time, so setting up much memory writes
//! none of them.

use crate::frame::{Block, FRAMES_PER_WORD, Offset, WORDS_PER_BLOCK};
use crate::primitive::AtomicU64;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// A set of frames of a word: the lower bit of each frame's pair of bits.
pub(crate) type Lanes = u64;

/// All frames of a word.
pub(crate) const ALL_LANES: Lanes = 0x5555_5555_5555_5555;

/// The order of a word's 32 frames.
pub(crate) const WORD_ORDER: u8 = FRAMES_PER_WORD.trailing_zeros() as u8;

/// The frames of a word at which runs of 2ⁿ frames may begin, by n.
const BEGINS: [Lanes; WORD_ORDER as usize + 1] =
    [ALL_LANES, 0x1111_1111_1111_1111, 0x0101_0101_0101_0101, 0x0001_0001_0001_0001, 0x0000_0001_0000_0001, 1];

/// A frame's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Taken,
    Parked,
    Closed,
}

/// The states of 32 frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    /// A word whose frames all lie in a hole.
    pub(crate) const CLOSED: Self = Self(ALL_LANES << 1);

    #[inline]
    pub(crate) fn free(self) -> Lanes {
        !(self.0 | self.0 >> 1) & ALL_LANES
    }

    #[inline]
    pub(crate) fn taken(self) -> Lanes {
        self.0 & !(self.0 >> 1) & ALL_LANES
    }

    pub(crate) fn parked(self) -> Lanes {
        self.0 & self.0 >> 1 & ALL_LANES
    }

    pub(crate) fn closed(self) -> Lanes {
        !self.0 & self.0 >> 1 & ALL_LANES
    }

    /// The first frames of all free runs of 2ⁿ frames, up to a word's 32, that begin at multiples
    /// of their length.
    pub(crate) fn runs(self, order: u8) -> Lanes {
        let first = (0..u32::from(order)).fold(self.free(), |first, step| first & first.wrapping_shr(2 << (step & 7)));
        first & BEGINS.get(usize::from(order)).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn is_all_free(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn state(self, lane: Lanes) -> State {
        match (self.0 & lane != 0, self.0 & lane << 1 != 0) {
            (false, false) => State::Free,
            (true, false) => State::Taken,
            (true, true) => State::Parked,
            (false, true) => State::Closed,
        }
    }
}

/// Index of a frame's word.
#[inline(always)]
pub(crate) fn word_of(offset: Offset) -> usize {
    (offset / FRAMES_PER_WORD) as usize
}

/// A frame's place in its word.
#[inline(always)]
pub(crate) fn lane_of(offset: Offset) -> Lanes {
    1 << (offset % FRAMES_PER_WORD * 2)
}

/// Number of frames of a run of an order.
pub(crate) fn run_frames(order: u8) -> u64 {
    1 << (order & 31)
}

/// The run of 2ⁿ frames at the beginning of a word.
fn run_lanes(order: u8) -> Lanes {
    ALL_LANES.wrapping_shr(64_u32.wrapping_sub(2 << (order & 7)))
}

/// The lowest `count` frames of a set.
pub(crate) fn lowest(lanes: Lanes, count: u32) -> Lanes {
    let mut rest = lanes;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    lanes & !rest
}

/// A state word, shared by all CPUs.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct StateWord(AtomicU64);

impl StateWord {
    pub(crate) fn new(word: Word) -> Self {
        Self(AtomicU64::new(word.0))
    }

    /// The word's value, in the single order of all steps that make frames free or reserve blocks.
    #[inline]
    pub(crate) fn load(&self) -> Word {
        // SeqCst: pairs with `free_*`. A scan after the end of a reservation must see their writes;
        // see `range_layer`.
        Word(self.0.load(SeqCst))
    }

    /// free → parked, for at most `most` frames, lowest first. Returns these frames. `seems_free`:
    /// all frames of the word are probably free.
    #[inline]
    pub(crate) fn park_free(&self, most: u32, seems_free: bool) -> Lanes {
        // A guess, which the compare-and-swap checks. If all frames are free, reading first would
        // fetch twice a line that another CPU wrote, as in `free_taken`. Relaxed: as there.
        let mut old = if seems_free { 0 } else { self.0.load(Relaxed) };
        loop {
            let lanes = lowest(Word(old).free(), most);
            if lanes == 0 {
                return 0;
            }
            // SeqCst: pairs with the loads of other CPUs that search for free frames. Also acquires
            // what users wrote before.
            match self.0.compare_exchange_weak(old, old | lanes | lanes << 1, SeqCst, Relaxed) {
                Ok(_) => return lanes,
                Err(found) => old = found,
            }
        }
    }

    /// free → taken, for the lowest free run of 2ⁿ frames that begins at a multiple of its length.
    /// Returns its first frame.
    pub(crate) fn take_run(&self, order: u8) -> Option<Lanes> {
        // Relaxed: a guess that the compare-and-swap checks.
        let mut old = self.0.load(Relaxed);
        loop {
            let runs = Word(old).runs(order);
            if runs == 0 {
                return None;
            }
            let first = runs & runs.wrapping_neg();
            let lanes = first.wrapping_mul(run_lanes(order));
            // SeqCst: as in `park_free`, which this replaces together with `take_parked`.
            match self.0.compare_exchange_weak(old, old | lanes, SeqCst, Relaxed) {
                Ok(_) => return Some(first),
                Err(found) => old = found,
            }
        }
    }

    /// free → parked, for all of `lanes` or none. The error is the frames that were not free.
    pub(crate) fn park_all(&self, lanes: Lanes) -> Result<(), Lanes> {
        let mut old = self.0.load(Relaxed);
        loop {
            let missing = lanes & !Word(old).free();
            if missing != 0 {
                return Err(missing);
            }
            // SeqCst: as in `park_free`.
            match self.0.compare_exchange_weak(old, old | lanes | lanes << 1, SeqCst, Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => old = found,
            }
        }
    }

    /// parked → taken. The caller holds them.
    #[inline(always)]
    pub(crate) fn take_parked(&self, lanes: Lanes) {
        // Acquire: what the last user wrote, released by `park_taken` or `free_taken`. The old
        // value is not needed: the bits were set, and only the caller may clear them.
        self.0.fetch_and(!(lanes << 1), Acquire);
    }

    /// taken → parked. The error is the frame's state.
    #[inline(always)]
    pub(crate) fn park_taken(&self, lane: Lanes) -> Result<(), State> {
        // Relaxed: a guess that the compare-and-swap checks.
        let mut old = self.0.load(Relaxed);
        loop {
            if old & (lane | lane << 1) != lane {
                return Err(Word(old).state(lane));
            }
            // Release: what the user wrote in the frame, for its next taker.
            match self.0.compare_exchange_weak(old, old | lane << 1, Release, Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => old = found,
            }
        }
    }

    /// taken → free, for those of `lanes` that are taken. Returns the previous word and the freed
    /// frames. `is_near`: this CPU's cache probably has the line.
    #[inline(always)]
    pub(crate) fn free_taken(&self, lanes: Lanes, is_near: bool) -> (Word, Lanes) {
        // If not near, guesses that all frames of the word are taken. A wrong guess costs a second
        // try on a line that has arrived by then. Reading first would fetch twice a line that
        // another CPU wrote: once to read it and once to write it. Relaxed: the compare-and-swap
        // checks it.
        let mut old = if is_near { self.0.load(Relaxed) } else { ALL_LANES };
        loop {
            let taken = Word(old).taken() & lanes;
            if taken == 0 {
                return (Word(old), 0);
            }
            // SeqCst: before the check of the block's reservation; see `range_layer`. Also releases
            // what users wrote.
            match self.0.compare_exchange_weak(old, old ^ taken, SeqCst, Relaxed) {
                Ok(_) => return (Word(old), taken),
                Err(found) => old = found,
            }
        }
    }

    /// closed → free, for those of `lanes` that are closed: frames that come to a hole. Returns the
    /// previous word and the freed frames.
    pub(crate) fn free_closed(&self, lanes: Lanes) -> (Word, Lanes) {
        // Relaxed: a guess that the compare-and-swap checks.
        let mut old = self.0.load(Relaxed);
        loop {
            let closed = Word(old).closed() & lanes;
            if closed == 0 {
                return (Word(old), 0);
            }
            // SeqCst: as in `free_taken`.
            match self.0.compare_exchange_weak(old, old ^ closed << 1, SeqCst, Relaxed) {
                Ok(_) => return (Word(old), closed),
                Err(found) => old = found,
            }
        }
    }

    /// parked → free. The caller holds them. Returns the word after the step.
    #[inline]
    pub(crate) fn free_parked(&self, lanes: Lanes) -> Word {
        let both = lanes | lanes << 1;
        // SeqCst: as in `free_taken`.
        Word(self.0.fetch_and(!both, SeqCst) & !both)
    }

    /// free → closed, the whole word or nothing.
    pub(crate) fn close(&self) -> bool {
        // AcqRel is enough: the block's word settles the rest, see `block`.
        self.0.compare_exchange(0, Word::CLOSED.0, AcqRel, Relaxed).is_ok()
    }

    /// taken → closed, the whole word or nothing.
    pub(crate) fn close_taken(&self) -> bool {
        // AcqRel: what users wrote, for the user of the huge frame.
        self.0.compare_exchange(ALL_LANES, Word::CLOSED.0, AcqRel, Relaxed).is_ok()
    }

    /// closed → free, the whole word. The caller has closed it, or has the block as a whole.
    pub(crate) fn reopen(&self) {
        // SeqCst: as in `free_taken`.
        self.0.store(0, SeqCst);
    }

    /// closed → taken, the whole word. The caller has the block as a huge frame.
    pub(crate) fn reopen_taken(&self) {
        // Release: what the user wrote, for the next taker of a frame.
        self.0.store(ALL_LANES, Release);
    }
}

/// A word that may not have been made yet.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct StateCell(UnsafeCell<MaybeUninit<StateWord>>);

// SAFETY: 1. Only `Words::make` writes a place other than by atomic steps, and its caller promises
// exclusive access to the block meanwhile. 2. Only `Words::of` and `Words::word` make references to
// its content, and their callers promise that it was made before. 3. `StateWord` is `Sync`.
unsafe impl Sync for StateCell {}

/// The state words of all blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'m>(pub(crate) &'m [StateCell]);

impl<'m> Words<'m> {
    /// The words of a block.
    ///
    /// # Safety
    /// They have been made, and that happened before.
    #[inline]
    pub(crate) unsafe fn of(self, block: Block) -> &'m [StateWord] {
        let places = self.places(block);
        // SAFETY: 1. All of them are made, as the caller promises. 2. Both types are transparent,
        // so a slice of places has the layout of a slice of words. 3. Made words are written only
        // by atomic steps.
        unsafe { core::slice::from_raw_parts(places.as_ptr().cast::<StateWord>(), places.len()) }
    }

    /// The word that a frame is in.
    ///
    /// # Safety
    /// As for [`of`](Self::of), for the frame's block.
    #[inline(always)]
    pub(crate) unsafe fn word(self, offset: Offset) -> Option<&'m StateWord> {
        // SAFETY: as in `of`, for one place.
        self.0.get(word_of(offset)).map(|place| unsafe { &*place.0.get().cast::<StateWord>() })
    }

    /// Makes the words of a block.
    ///
    /// # Safety
    /// They have not been made, and the caller has exclusive access to them until other CPUs learn
    /// of this call.
    pub(crate) unsafe fn make(self, block: Block, word: impl Fn(u32) -> Word) {
        for (index, place) in (0..).zip(self.places(block)) {
            // SAFETY: 1. The caller has exclusive access to the place, as it promises. 2. It is
            // valid for writes: `StateCell` is an `UnsafeCell`.
            unsafe { (*place.0.get()).write(StateWord::new(word(index))) };
        }
    }

    #[inline]
    fn places(self, block: Block) -> &'m [StateCell] {
        let first = block.0 as usize * WORDS_PER_BLOCK as usize;
        self.0.get(first..first + WORDS_PER_BLOCK as usize).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_of_a_word_is_in_one_state() {
        // One frame of each state, in the order of the bits: 00, 01, 10, 11, and 28 free ones.
        let word = Word(0b11_10_01_00);
        assert_eq!([word.taken(), word.closed(), word.parked()], [1 << 2, 1 << 4, 1 << 6]);
        assert_eq!(word.free() | word.taken() | word.closed() | word.parked(), ALL_LANES);
        assert_eq!(word.free().count_ones(), 29);
        let states = [State::Free, State::Taken, State::Closed, State::Parked];
        assert_eq!([0, 1, 2, 3].map(|frame| word.state(lane_of(frame))), states);
    }

    #[test]
    fn runs_begin_at_multiples_of_their_length() {
        assert_eq!(
            (0..=WORD_ORDER).map(|order| Word(0).runs(order).count_ones()).collect::<std::vec::Vec<_>>(),
            [32, 16, 8, 4, 2, 1]
        );
        // Frame 5 is taken.
        let word = Word(lane_of(5));
        assert_eq!(word.runs(0), ALL_LANES & !lane_of(5));
        assert_eq!(word.runs(1) & lane_of(4), 0);
        assert_eq!(word.runs(2) & 0xffff_ffff, lane_of(0) | lane_of(8) | lane_of(12));
        assert_eq!(word.runs(3), lane_of(8) | lane_of(16) | lane_of(24));
        assert_eq!([word.runs(4), word.runs(5), word.runs(6)], [lane_of(16), 0, 0]);
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn a_run_is_taken_in_one_step() {
        let word = StateWord::new(Word(lane_of(1)));
        assert_eq!([0, 1, 3, 4].map(|order| word.take_run(order)), [0, 2, 8, 16].map(|frame| Some(lane_of(frame))));
        assert_eq!([word.take_run(3), word.take_run(2)], [None, Some(lane_of(4))]);
        assert_eq!((word.load().taken(), word.take_run(0)), (ALL_LANES, None));
        assert_eq!(StateWord::new(Word(0)).take_run(WORD_ORDER), Some(1));
    }

    #[test]
    fn the_lowest_of_some() {
        assert_eq!(lowest(0b1_0101_0100, 2), 0b1_0100);
        assert_eq!(lowest(0b101, 9), 0b101);
        assert_eq!(lowest(ALL_LANES, 0), 0);
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn a_frame_goes_its_way_and_no_other() {
        let word = StateWord::new(Word(0));
        let lane = lane_of(5);
        assert_eq!(word.park_taken(lane), Err(State::Free));
        assert_eq!([true, false].map(|is_near| word.free_taken(lane, is_near).1), [0, 0]);
        assert_eq!(word.park_all(lane), Ok(()));
        assert_eq!(word.park_all(lane | 1), Err(lane));
        assert_eq!(word.park_taken(lane), Err(State::Parked));
        word.take_parked(lane);
        assert_eq!(word.load().taken(), lane);
        assert_eq!(word.park_taken(lane), Ok(()));
        word.take_parked(lane);
        assert_eq!([true, false].map(|is_near| word.free_taken(lane, is_near).1), [lane, 0]);
        assert!(word.load().is_all_free());
        assert!(word.close());
        assert!(!word.close());
        assert_eq!(word.park_taken(lane), Err(State::Closed));
        assert_eq!([true, false].map(|seems_free| word.park_free(32, seems_free)), [0, 0]);
        word.reopen();
        for seems_free in [true, false] {
            assert_eq!(word.park_free(3, seems_free), 0b1_0101);
            assert_eq!(word.park_free(1, seems_free), 0b100_0000);
            assert!(word.free_parked(0b101_0101).is_all_free());
        }
    }
}
