//! Runs: 2, 4, … 256 frames that begin at a multiple of their length.
//!
//! A CPU reserves a block for runs, besides the one for single frames, and takes runs from it until it finds none of the
//! wanted length. So a CPU that gets and puts runs in turns makes one step on a state word for each, and its block never
//! becomes whole meanwhile, which would close and open all its words. A run of up to 32 frames lies in one word and is
//! taken by one step; a longer one is parked word by word and given back if a frame was lost on the way.

use crate::counters::Event;
use crate::frame::{Block, FRAMES_PER_WORD, Offset};
use crate::layers::{Layers, Local};
use crate::pressure::Urgency;
use crate::range_layer::RangeLayer;
use crate::search::{Search, Step};
use crate::state::{StateWord, WORD_ORDER, run_frames};

/// The largest order of a run: 256 frames, 1 MiB. Twice as many are a huge frame.
pub(crate) const MOST_ORDER: u8 = 8;

/// Blocks that a step reserves if others take their runs first.
const TRIES: u32 = 4;

impl<'m> Layers<'m> {
    /// A step of a get of a run: from the block that this CPU has reserved for runs, or from another.
    pub(crate) fn get_run(&self, local: &Local<'m>, urgency: Urgency, order: u8, search: &mut Search) -> Step<Offset> {
        for _ in 0..TRIES {
            if let Some((block, word)) = local.cache.run_block() {
                if let Some(offset) = self.take_run(local, urgency, order, block, word) {
                    local.count(Event::RunGet, 1);
                    return Step::Found(offset);
                }
                local.cache.set_run_block(None);
                self.range.leave(block);
            }
            match self.find(local, urgency, search) {
                Step::Found(block) => local.cache.set_run_block(Some(block)),
                Step::More => return Step::More,
                Step::Nothing => return Step::Nothing,
            }
        }
        Step::More
    }

    /// Takes a run from a block, first from the word given. None if the block has none, or the min watermark forbids it.
    fn take_run(&self, local: &Local<'m>, urgency: Urgency, order: u8, block: Block, word: u32) -> Option<Offset> {
        let frames = run_frames(order);
        let domain = self.range.block(block)?.glance().domain();
        if self.allowance(local, domain, urgency, frames) < frames {
            return None;
        }
        if order > WORD_ORDER {
            return self.take_long_run(local, order, block);
        }
        let words = self.range.words(block);
        let from = |first: usize| words.iter().zip(0..).skip(first);
        let (lane, index) = from(word as usize)
            .chain(from(0).take(word as usize))
            .find_map(|(word, index): (&StateWord, u32)| Some((word.take_run(order)?, index)))?;
        local.cache.set_run_word(index);
        self.note_free(local, domain, -(frames as i64));
        Some(block.first() + index * FRAMES_PER_WORD + lane.trailing_zeros() / 2)
    }

    /// Takes a run of several words.
    fn take_long_run(&self, local: &Local<'m>, order: u8, block: Block) -> Option<Offset> {
        let (first, frames) = (u64::from(block.first()), run_frames(order));
        let free = self.range.long_runs(block, order).zip((first..).step_by(frames as usize));
        let mut places = free.filter(|(is_free, _)| *is_free).map(|(_, place)| place..place + frames);
        let run = places.find(|run| self.park_range(local, run.clone()).is_ok())?;
        self.take_range(local, run.clone());
        Some(run.start as Offset)
    }
}

impl RangeLayer<'_> {
    /// Whether a block has a free run, at the moment of the check.
    pub(crate) fn has_run(&self, block: Block, order: u8) -> bool {
        if order <= WORD_ORDER {
            return self.words(block).iter().any(|word| word.load().runs(order) != 0);
        }
        self.long_runs(block, order).any(|is_free| is_free)
    }

    /// Whether each of a block's places for a run of several words is free.
    fn long_runs(&self, block: Block, order: u8) -> impl Iterator<Item = bool> {
        let words = 1_usize.wrapping_shl(u32::from(order.saturating_sub(WORD_ORDER)));
        self.words(block).chunks(words).map(|words| words.iter().all(|word| word.load().is_all_free()))
    }
}
