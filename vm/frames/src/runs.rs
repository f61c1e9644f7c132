//! Runs: 2, 4, … 256 frames that begin at a multiple of their length.
//!
//! A CPU reserves a block for runs, besides the one for single frames, and takes runs from it until
//! it finds none of the wanted length. So a CPU that alternately gets and puts runs makes one step
//! on a state word for each. Meanwhile its block never becomes whole, which would close and open
//! all its words. A run of up to 32 frames lies in one word and is taken in one step; a longer one
//! is parked word by word, and freed again if a frame was lost meanwhile.

use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::GetError;
use crate::frame::{Block, FRAMES_PER_WORD, Offset, RangeRequest};
use crate::frames::Frames;
use crate::layers::Urgency;
use crate::layers::{Layers, Local};
use crate::range_layer::RangeLayer;
use crate::search::{Pause, Search, Step};
use crate::state::{StateWord, WORD_ORDER, run_frames};
use faultline_numbers::{FrameNumber, Order};

/// The largest order of a run: 256 frames, 1 MiB. Twice as many are a huge frame.
pub(crate) const MOST_ORDER: u8 = 8;

/// Maximum number of blocks that a step reserves if other CPUs take their runs first.
const TRIES: u32 = 4;

impl<'m> Layers<'m> {
    /// A step of a get of a run: from the block that this CPU has reserved for runs, or from
    /// another.
    pub(crate) fn get_run(&self, local: &Local<'m>, urgency: Urgency, order: u8, search: &mut Search) -> Step<Offset> {
        for _ in 0..TRIES {
            if let Some((block, word)) = local.cache.run_block() {
                if let Some(offset) = self.take_run(local, urgency, order, block, word) {
                    local.count(Event::RunGet, 1);
                    return Ok(offset);
                }
                local.cache.set_run_block(None);
                self.range.leave(block);
            }
            local.cache.set_run_block(Some(self.find(local, urgency, search)?));
        }
        Err(Pause::More)
    }

    /// Takes a run from a block, starting the search at the given word. None if the block has none,
    /// or the min watermark forbids it.
    fn take_run(&self, local: &Local<'m>, urgency: Urgency, order: u8, block: Block, word: u32) -> Option<Offset> {
        let frames = run_frames(order);
        let domain = self.range.domain_of(block)?;
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
    /// True if a block has a free run at this moment.
    pub(crate) fn has_run(&self, block: Block, order: u8) -> bool {
        if order <= WORD_ORDER {
            return self.words(block).iter().any(|word| word.load().runs(order) != 0);
        }
        self.long_runs(block, order).any(|is_free| is_free)
    }

    /// For each place of a block for a run of several words, true if it is free.
    fn long_runs(&self, block: Block, order: u8) -> impl Iterator<Item = bool> {
        let words = 1_usize.wrapping_shl(u32::from(order.saturating_sub(WORD_ORDER)));
        self.words(block).chunks(words).map(|words| words.iter().all(|word| word.load().is_all_free()))
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns the first frame of a run of 2ⁿ frames that begins at a multiple of its length, for n
    /// up to 8: mostly in one step on a block that the CPU has reserved for runs. Put its frames
    /// with [`put_range`](Self::put_range), one by one, or in parts. If no block in the index has
    /// such a run, drains caches and searches all memory, in steps. For longer runs, get huge
    /// frames or ranges.
    pub fn get_run(&self, order: Order) -> Result<FrameNumber, GetError> {
        self.get_run_as(order, Urgency::Normal)
    }

    /// Returns a run. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_run_as(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        match self.run_from_index(order, urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                let frames = order.frames().unwrap_or(u64::MAX);
                self.get_range_as(&RangeRequest { alignment: frames, ..RangeRequest::of(frames) }, urgency)
            }
            got => got,
        }
    }

    /// As [`get_run_as`](Self::get_run_as), but drains no cache and searches no memory: fails if no
    /// block of the index has a run. The error says whether a watermark is the reason.
    pub fn try_get_run(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.run_from_index(order, urgency).inspect_err(|_| self.count_exhausted())
    }

    fn run_from_index(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        if order.0 > MOST_ORDER {
            return Err(GetError::BadRequest);
        }
        let mut search = Search::run(order.0);
        let got = self.by_steps(|layers, local| layers.get_run(local, urgency, order.0, &mut search))?;
        got.ok_or_else(|| search.error())
    }
}
