//! The data that all layers share. Each layer is an `impl` in its own file.

use crate::block::BlockWord;
use crate::cache::Cache;
use crate::config::Policy;
use crate::counters::Event;
use crate::domain::{Domain, Extent};
use crate::error::PutError;
use crate::frame::FrameNumber;
use crate::index::Index;
use crate::primitive::AtomicU32;
use crate::state::{FRAMES_PER_BLOCK, Offset, State, StateWord, WORDS_PER_BLOCK, word_of};
use core::cell::Cell;

/// Only references, which never change. All mutable data lies on lines of the metadata.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool<'m> {
    /// Number of the lowest frame.
    pub(crate) base: u64,
    /// Frames from there on, including holes.
    pub(crate) span: u32,
    pub(crate) policy: Policy,
    pub(crate) states: &'m [StateWord],
    pub(crate) blocks: &'m [BlockWord],
    /// Blocks with free frames that nobody has reserved.
    pub(crate) open: Index<'m>,
    /// Of these, the blocks whose frames are all free.
    pub(crate) whole: Index<'m>,
    pub(crate) caches: &'m [Cache],
    pub(crate) extents: &'m [Extent],
    pub(crate) domains: &'m [Domain],
    /// Slots for zeroed frames, `policy.zeroed_most` for each domain: 0, or an offset plus 1.
    pub(crate) zeroed: &'m [AtomicU32],
}

/// The CPU that a call is pinned to.
#[derive(Debug)]
pub(crate) struct Local<'m> {
    pub(crate) number: u32,
    pub(crate) cache: &'m Cache,
    /// Domains that have fallen below their low watermark in this call, one bit each.
    pub(crate) crossed: Cell<u32>,
}

impl Local<'_> {
    #[inline]
    pub(crate) fn count(&self, event: Event, count: u64) {
        self.cache.counts.add(event, count);
    }
}

impl<'m> Pool<'m> {
    #[inline(always)]
    pub(crate) fn offset(&self, frame: FrameNumber) -> Option<Offset> {
        let offset = frame.0.wrapping_sub(self.base);
        (offset < u64::from(self.span)).then_some(offset as Offset)
    }

    #[inline(always)]
    pub(crate) fn number(&self, offset: Offset) -> FrameNumber {
        FrameNumber(self.base + u64::from(offset))
    }

    #[inline(always)]
    pub(crate) fn block(&self, offset: Offset) -> Option<&'m BlockWord> {
        self.blocks.get((offset / FRAMES_PER_BLOCK) as usize)
    }

    #[inline(always)]
    pub(crate) fn state_word(&self, offset: Offset) -> Option<&'m StateWord> {
        self.states.get(word_of(offset))
    }

    /// The words of a block.
    pub(crate) fn words(&self, block: u32) -> &'m [StateWord] {
        let first = (block * WORDS_PER_BLOCK) as usize;
        self.states.get(first..first + WORDS_PER_BLOCK as usize).unwrap_or(&[])
    }

    /// Why a frame in this state can't be put alone.
    #[cold]
    pub(crate) fn refusal(&self, offset: Offset, state: State) -> PutError {
        match state {
            // Taken: another has taken it since, so it was free when we looked.
            State::Free | State::Parked | State::Taken => PutError::AlreadyFree,
            State::Closed => match self.block(offset).map(BlockWord::load) {
                Some(block) if block.is_huge() => PutError::WrongOrder,
                // Part of a huge frame that is just being got, or put.
                Some(block) if !block.is_holed() => PutError::AlreadyFree,
                _ => PutError::Absent,
            },
        }
    }
}
