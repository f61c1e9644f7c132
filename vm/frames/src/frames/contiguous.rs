//! Runs and contiguous ranges.

use super::Frames;
use crate::contiguous::{PIECE, RangeSearch, pieces_of};
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::{BatchError, GetError, PutError, Refused};
use crate::frame::{BLOCK_FRAMES, Offset, RangeRequest};
use crate::pressure::Urgency;
use crate::runs::MOST_ORDER;
use crate::search::{Search, Step};
use faultline_numbers::{FrameNumber, Order};

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns the first frame of a run of 2ⁿ frames that begins at a multiple of its length, for n up to 8: mostly by one
    /// step on a block that the CPU has reserved for runs. Put its frames with [`put_range`](Self::put_range), one by one, or
    /// in parts. If the index has no block with such a run, drains caches and searches all memory, in steps. Longer ones are
    /// huge frames or ranges.
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

    /// As [`get_run_as`](Self::get_run_as), but drains no cache and searches no memory: fails if no block of the index has a
    /// run, and says whether a watermark is the reason.
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

    /// Returns the first frame of a contiguous range. Its frames may be put one by one, in parts, or as a whole. Searches
    /// all memory between the bounds, in steps, then drains caches and searches again.
    pub fn get_range(&self, request: &RangeRequest) -> Result<FrameNumber, GetError> {
        self.get_range_as(request, Urgency::Normal)
    }

    /// Returns the first frame of a contiguous range. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_range_as(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        if let Some(first) = self.range_by_steps(&mut search, urgency)? {
            return Ok(first);
        }
        self.drain();
        search = RangeSearch::new(request)?;
        let got = self.range_by_steps(&mut search, urgency)?.ok_or(search.error(GetError::Exhausted));
        got.inspect_err(|_| self.count_exhausted())
    }

    fn range_by_steps(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        loop {
            match self.range_step(search, urgency)? {
                Step::Found(offset) => return Ok(Some(self.number(offset))),
                Step::More => {}
                Step::Nothing => return Ok(None),
            }
        }
    }

    /// A step of the search. If it finds the place of a long range, claims that, in further steps.
    fn range_step(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Step<Offset>, GetError> {
        let step = self.held(|layers, local| layers.range_step(local, urgency, search)).ok_or(GetError::NoSuchCpu)?;
        let Step::Found(offset) = step else { return Ok(step) };
        if search.is_long()
            && let Some(lost) = self.claim_range(offset, search.frames()).ok_or(GetError::NoSuchCpu)?
        {
            search.lost(self.number(lost));
            return Ok(Step::More);
        }
        Ok(step)
    }

    /// Checks, parks and takes a long range, each in steps of a piece: first all of it is checked, so that whole blocks are
    /// seldom broken in vain. Between two steps its frames are parked for this call. Returns the offset of a frame that was
    /// not free, if there is one; then nothing is taken. None: no such CPU.
    fn claim_range(&self, first: Offset, frames: u64) -> Option<Option<Offset>> {
        let range = u64::from(first)..u64::from(first) + frames;
        for piece in pieces_of(&range).rev() {
            let mut left = u32::MAX;
            if let Some(lost) = self.held(|layers, _| layers.range.blocked(piece, false, &mut left))? {
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

    /// As [`get_range_as`](Self::get_range_as), but drains nothing and makes only the first step of the search.
    pub fn try_get_range(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        match self.continue_range(&mut search, urgency) {
            Ok(None) => Err(search.error(GetError::NotAtHand)),
            Ok(Some(first)) => Ok(first),
            Err(error) => Err(error),
        }
    }

    /// Makes one step of a search for a range: reads the words of 64 blocks. A place of more than 64 blocks that may fit is
    /// then checked, parked and taken, in three steps for each 64 blocks. Returns none if the search can be continued. Fails with [`GetError::NotAtHand`] or [`GetError::AtMinimum`] when it has
    /// searched everything; frames in caches may be what was missing.
    pub fn continue_range(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        match self.range_step(search, urgency)? {
            Step::Found(offset) => Ok(Some(self.number(offset))),
            Step::More => Ok(None),
            Step::Nothing => Err(search.error(GetError::NotAtHand)),
        }
    }

    /// Takes a contiguous range back. The error counts the frames that were refused; all others are taken back. The
    /// caller is pinned anew for each 64 blocks.
    pub fn put_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        let (mut first, mut left) = (first, frames);
        while left > 0 {
            let step = left.min(self.put_step(first));
            let put = self.held(|layers, local| {
                let before = refused.count();
                layers.put_range(local, first, step, &mut refused);
                local.count(Event::Refused, refused.count() - before);
            });
            if put.is_none() {
                refused.add(step, first, PutError::NoSuchCpu);
            }
            (first, left) = (FrameNumber(first.0.saturating_add(step)), left - step);
        }
        refused.result()
    }

    /// How many frames from a number on are put in one step. What lies outside all spans is refused in one.
    fn put_step(&self, first: FrameNumber) -> u64 {
        match self.layers.range.spans.at_or_after(first.0) {
            None => u64::MAX,
            Some(span) if first.0 < span.base => span.base - first.0,
            Some(span) => (PIECE - first.0 % BLOCK_FRAMES).min(span.end() - first.0),
        }
    }
}
