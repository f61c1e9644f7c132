//! Memory that is added in pieces of any size. A unit of 2 MiB that has come in pieces can be a
//! huge frame when the last one is there.

use crate::contiguous::{blocks_of, part_of, words_of};
use crate::cpu::CurrentCpu;
use crate::error::{BatchError, PutError, Refused};
use crate::frame::{BLOCK_FRAMES, Block, FRAMES_PER_WORD, Offset};
use crate::frames::Frames;
use crate::layers::{Layers, Local};
use crate::primitive::relax;
use crate::range_layer::RangeLayer;
use crate::state::{Lanes, State, StateWord, Word, lane_of};
use core::ops::Range;
use faultline_numbers::FrameNumber;

impl<'m> Layers<'m> {
    /// Adds the frames of a range, in one span or in none.
    fn put_online_range(&self, local: &Local<'m>, first: FrameNumber, frames: u64, refused: &mut Refused) {
        let Some(offset) = self.range.offset(first) else {
            return refused.add(frames, first, PutError::OutOfRange);
        };
        let range = u64::from(offset)..u64::from(offset) + frames;
        for block in blocks_of(&range) {
            let part = part_of(block, &range);
            let is_all = part.end - part.start == BLOCK_FRAMES;
            let whole = self.range.number(block.first()).huge();
            if !(is_all && self.put_online(local, whole).is_ok()) {
                self.put_online_part(local, block, part, refused);
            }
        }
    }

    fn put_online_part(&self, local: &Local<'m>, block: Block, part: Range<u64>, refused: &mut Refused) {
        let first = self.range.number(part.start as Offset);
        if let Err(error) = self.range.prepare_part(block) {
            return refused.add(part.end - part.start, first, error);
        }
        for (first, lanes) in words_of(part) {
            let Some((before, freed)) = self.range.free_closed(first, lanes) else { continue };
            if freed != 0
                && let Some(freed) = self.range.freed(first, Word(before.0 ^ freed << 1), freed.count_ones())
            {
                self.account(local, freed);
            }
            let wrong = lanes & !freed;
            if wrong != 0 {
                let offset = first / FRAMES_PER_WORD * FRAMES_PER_WORD + wrong.trailing_zeros() / 2;
                let error = match before.state(lane_of(offset)) {
                    State::Taken => PutError::WrongOrder,
                    _ => PutError::AlreadyFree,
                };
                refused.add(u64::from(wrong.count_ones()), self.range.number(offset), error);
            }
        }
        self.range.note_full(block);
    }
}

impl RangeLayer<'_> {
    /// Makes the words of a block say which of its frames are missing, if they do not yet.
    fn prepare_part(&self, block: Block) -> Result<(), PutError> {
        let word = self.block(block).ok_or(PutError::OutOfRange)?;
        if let Some(before) = word.open_offline() {
            // Words that have been made are closed.
            if !before.is_opened() {
                self.make_or_set(block, before, Word::CLOSED, |_: &StateWord| {});
            }
            word.end_opening();
        }
        while word.load().is_opening() {
            relax();
        }
        match word.load() {
            state if state.is_huge() || state.is_split() => Err(PutError::WrongOrder),
            state if state.is_whole() => Err(PutError::AlreadyFree),
            // Neither memory nor named.
            state if !state.is_opened() => Err(PutError::Absent),
            _ => Ok(()),
        }
    }

    fn free_closed(&self, first: Offset, lanes: Lanes) -> Option<(Word, Lanes)> {
        self.word(first).map(|word| word.free_closed(lanes))
    }

    /// Records that a block has all its frames, if it has.
    fn note_full(&self, block: Block) {
        let is_full = |word: &StateWord| word.load().closed() == 0;
        let Some(holed) = self.block(block).filter(|word| word.load().is_holed()) else { return };
        if self.words(block).iter().all(is_full) {
            holed.fill_hole();
            // Its last frame may have been made free before.
            self.publish(block);
        }
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Adds frames to memory, free: of [`Config::offline`](crate::Config::offline), or others in a
    /// unit of 2 MiB that has memory or is named there. The error counts the refused frames, among
    /// them those that are in memory already; all others are added. Works in steps of 64 blocks.
    /// Calls for the same frames must not overlap.
    pub fn put_online_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        self.put_in_steps(first, frames, Layers::put_online_range)
    }
}
