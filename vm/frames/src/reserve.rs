//! Reservations: takes all frames of a range, whatever holes are in it. For what firmware, a loader
//! or a device has at a fixed place.

use crate::block::{BlockState, BlockWord};
use crate::contiguous::{blocks_of, part_of, words_of};
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::GetError;
use crate::frame::{BLOCK_FRAMES, Block};
use crate::frames::Frames;
use crate::layers::{Layers, Local};
use crate::range_layer::RangeLayer;
use crate::state::Lanes;
use core::ops::Range;
use faultline_numbers::FrameNumber;

/// A frame of the range is not free.
struct NotFree;

impl<'m> Layers<'m> {
    /// Parks the present frames of a range of offsets, or none if one is not free. Blocks that lie
    /// in it are taken as a whole.
    fn hold_present(&self, local: &Local<'m>, range: Range<u64>) -> Result<(), NotFree> {
        for block in blocks_of(&range) {
            let part = part_of(block, &range);
            if self.hold_in_block(local, block, part.clone()).is_err() {
                self.let_go_present(local, range.start..part.start);
                return Err(NotFree);
            }
        }
        Ok(())
    }

    fn hold_in_block(&self, local: &Local<'m>, block: Block, part: Range<u64>) -> Result<(), NotFree> {
        let Some(word) = self.range.block(block) else { return Ok(()) };
        let is_all = part.end - part.start == BLOCK_FRAMES;
        if is_all && word.take_whole() {
            return Ok(());
        }
        self.range.break_whole(block);
        let state = word.load();
        if state.is_whole() || state.is_huge() || state.is_split() {
            return Err(NotFree);
        }
        for (first, lanes) in words_of(part.clone()) {
            let Some((present, is_sure)) = self.range.present(first, lanes, state) else { continue };
            let held = if is_sure { self.range.park_present(first, present) } else { Err(NotFree) };
            if held.is_err() {
                self.let_go_words(local, part.start..u64::from(first).max(part.start));
                // A block that was broken in vain.
                self.range.publish(block);
                return Err(NotFree);
            }
        }
        Ok(())
    }

    /// Frees the held frames of a range.
    fn let_go_present(&self, local: &Local<'m>, range: Range<u64>) {
        for block in blocks_of(&range) {
            let part = part_of(block, &range);
            if part.end - part.start == BLOCK_FRAMES && self.range.put_held(block) {
                continue;
            }
            self.let_go_words(local, part);
        }
    }

    fn let_go_words(&self, local: &Local<'m>, range: Range<u64>) {
        for (first, lanes) in words_of(range) {
            let Some(word) = self.range.word(first) else { continue };
            let held = lanes & word.load().parked();
            if held != 0
                && let Some(freed) = self.range.free_parked_lanes(first, held)
                && freed.is_reserved
            {
                local.cache.turn_back(freed.block, freed.word);
            }
        }
    }

    /// Makes the held frames of a range taken. Returns their number.
    fn take_present(&self, local: &Local<'m>, range: Range<u64>) -> u64 {
        let mut all = 0;
        for block in blocks_of(&range) {
            let (part, Some(domain)) = (part_of(block, &range), self.range.domain_of(block)) else { continue };
            let mut taken = 0;
            if part.end - part.start == BLOCK_FRAMES && self.range.block(block).is_some_and(BlockWord::split) {
                taken = BLOCK_FRAMES;
            } else {
                for (first, lanes) in words_of(part) {
                    let Some(word) = self.range.word(first) else { continue };
                    let held = lanes & word.load().parked();
                    word.take_parked(held);
                    taken += u64::from(held.count_ones());
                }
                self.range.publish(block);
            }
            self.note_free(local, domain, -(taken as i64));
            all += taken;
        }
        local.count(Event::RangeGet, all);
        all
    }
}

impl RangeLayer<'_> {
    /// The frames among `lanes` that exist, and whether that is sure: while another CPU is making
    /// the block whole, its words are closed. None if the block has no frame.
    fn present(&self, first: u32, lanes: Lanes, state: BlockState) -> Option<(Lanes, bool)> {
        let closed = self.word(first)?.load().closed() & lanes;
        Some((lanes & !closed, closed == 0 || state.is_holed()))
    }

    /// free → parked, for all of `lanes`.
    fn park_present(&self, first: u32, lanes: Lanes) -> Result<(), NotFree> {
        if lanes == 0 {
            return Ok(());
        }
        self.word(first).map_or(Err(NotFree), |word| word.park_all(lanes).map_err(|_| NotFree))
    }

    /// Puts a block that was held as a whole. False if it was not.
    fn put_held(&self, block: Block) -> bool {
        let frame = self.number(block.first()).huge();
        self.block(block).is_some_and(|word| word.load().is_huge()) && self.put_whole(frame).is_ok()
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Takes all frames of a range that exist: holes are skipped. Returns their number; they may be
    /// put in any parts. Also takes frames below the min watermark. Drains caches if needed, and
    /// works in steps of 64 blocks. Fails with [`GetError::Exhausted`] if one of the frames is not
    /// free; then nothing is taken. Meant for the start, while other CPUs do not get frames of the
    /// range.
    pub fn reserve_range(&self, first: FrameNumber, frames: u64) -> Result<u64, GetError> {
        if !self.hold_by_steps(first, frames)? {
            self.drain();
            self.drain_own();
            if !self.hold_by_steps(first, frames)? {
                self.count_exhausted();
                return Err(GetError::Exhausted);
            }
        }
        let mut taken = 0;
        for piece in self.pieces(first, frames) {
            taken += self.held(|layers, local| layers.take_present(local, piece)).ok_or(GetError::NoSuchCpu)?;
        }
        Ok(taken)
    }

    /// Holds all present frames of a range, or none. False if one is not free.
    fn hold_by_steps(&self, first: FrameNumber, frames: u64) -> Result<bool, GetError> {
        for (number, piece) in (0..).zip(self.pieces(first, frames)) {
            let held = self.held(|layers, local| layers.hold_present(local, piece)).ok_or(GetError::NoSuchCpu)?;
            if held.is_err() {
                for piece in self.pieces(first, frames).take(number) {
                    self.held(|layers, local| layers.let_go_present(local, piece)).ok_or(GetError::NoSuchCpu)?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The offsets of a range, in steps. Frames outside all spans are left out.
    fn pieces(&self, first: FrameNumber, frames: u64) -> impl Iterator<Item = Range<u64>> + use<'_, 'm, C> {
        let (mut first, mut left) = (first, frames);
        core::iter::from_fn(move || {
            while left > 0 {
                let step = left.min(self.put_step(first));
                let offset = self.layers.range.offset(first);
                (first, left) = (FrameNumber(first.0.saturating_add(step)), left - step);
                if let Some(offset) = offset {
                    return Some(u64::from(offset)..u64::from(offset) + step);
                }
            }
            None
        })
    }
}
