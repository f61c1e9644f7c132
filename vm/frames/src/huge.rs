//! Huge frames: blocks that are taken and put as a whole, in one step on the block's word (see
//! `block`).

use crate::block::{BlockState, BlockWord};
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::{GetError, PutError};
use crate::frame::{Block, FRAMES_PER_BLOCK, Offset};
use crate::frames::Frames;
use crate::layers::Urgency;
use crate::layers::{Layers, Local};
use crate::primitive::order_for_loom;
use crate::range_layer::RangeLayer;
use crate::search::Scan;
use crate::search::{Search, Step};
use crate::state::{State, StateWord, lane_of};
use faultline_numbers::{FrameNumber, HugeFrame};

impl<'m> Layers<'m> {
    /// A step of a get of a huge frame: first tries the last one of its own domain that this CPU
    /// has put.
    pub(crate) fn get_huge(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        if let Some(block) = local.cache.take_huge_hint()
            && self.may_take_huge(local, block, urgency)
            && self.range.take_hinted(block)
        {
            return Ok(self.note_huge(local, block));
        }
        self.find_huge(local, urgency, search).map(|block| self.note_huge(local, block))
    }

    /// True if the min watermark of a block's domain permits taking the whole block.
    pub(crate) fn may_take_huge(&self, local: &Local<'m>, block: Block, urgency: Urgency) -> bool {
        let huge = u64::from(FRAMES_PER_BLOCK);
        self.range.domain_of(block).is_some_and(|domain| self.allowance(local, domain, urgency, huge) >= huge)
    }

    /// Accounts for a huge frame that was taken. Returns its first frame.
    pub(crate) fn note_huge(&self, local: &Local<'m>, block: Block) -> Offset {
        local.count(Event::HugeGet, 1);
        if let Some(domain) = self.range.domain_of(block) {
            self.note_free(local, domain, -i64::from(FRAMES_PER_BLOCK));
        }
        block.first()
    }

    /// Takes a huge frame back.
    pub(crate) fn put_huge(&self, local: &Local<'m>, frame: HugeFrame) -> Result<(), PutError> {
        let block = self.range.put_whole(frame)?;
        self.note_whole(local, block);
        local.count(Event::HugePut, 1);
        Ok(())
    }

    /// Takes a whole block back, if it is taken as a huge frame, or as one that was split and of
    /// which no frame was put yet.
    pub(crate) fn put_all(&self, local: &Local<'m>, block: Block) -> bool {
        let is_put = self.range.put_all(block);
        if is_put {
            self.note_whole(local, block);
        }
        is_put
    }

    /// Accounts for a block that was put as a whole.
    fn note_whole(&self, local: &Local<'m>, block: Block) {
        if let Some(domain) = self.range.domain_of(block) {
            self.note_free(local, domain, i64::from(FRAMES_PER_BLOCK));
            if domain == local.cache.domain {
                local.cache.set_huge_hint(block);
            }
        }
    }

    /// Adds an offline huge frame to memory.
    pub(crate) fn put_online(&self, local: &Local<'m>, frame: HugeFrame) -> Result<(), PutError> {
        let block = self.range.put_online(frame)?;
        if let Some(domain) = self.range.domain_of(block) {
            self.note_free(local, domain, i64::from(FRAMES_PER_BLOCK));
        }
        Ok(())
    }
}

impl RangeLayer<'_> {
    /// Takes a whole block after its bit was found. Returns false if another CPU was faster.
    pub(crate) fn take_whole(&self, block: Block) -> bool {
        let Some(word) = self.block(block) else { return false };
        if !self.whole.remove(block) {
            return false;
        }
        order_for_loom();
        let taken = word.take_whole();
        if !taken {
            // This call removed a bit that the block may need.
            self.publish(block);
        }
        taken
    }

    /// Takes a block that was whole when last seen. Its bit stays: a CPU that follows it finds the
    /// block taken and removes it, and if the frame is put before, its bit is already set. Returns
    /// false if the block is no longer whole.
    pub(crate) fn take_hinted(&self, block: Block) -> bool {
        self.block(block).is_some_and(BlockWord::take_whole)
    }

    /// Takes a block whose frames are all free, whatever its other state. Returns false if a frame
    /// is not free.
    pub(crate) fn take_all_free(&self, block: Block) -> bool {
        let Some(word) = self.block(block) else { return false };
        if word.take_whole() {
            return true;
        }
        let words = self.words(block);
        if words.is_empty() || !words.iter().all(|word| word.load().is_all_free()) {
            return false;
        }
        if self.close(block) {
            word.make_huge();
            return true;
        }
        self.publish(block);
        false
    }

    /// True if no frame of a block is taken and some are parked; false if all are free; none if one
    /// is taken or the block is no memory.
    pub(crate) fn is_cached(&self, block: Block) -> Option<bool> {
        if self.block(block)?.load().is_whole() {
            return Some(false);
        }
        let words = self.words(block);
        let parked = words.iter().try_fold(false, |parked, word| {
            let word = word.load();
            (word.taken() | word.closed() == 0).then_some(parked || word.parked() != 0)
        })?;
        (!words.is_empty()).then_some(parked)
    }

    fn huge(&self, frame: HugeFrame) -> Result<(Offset, Block, &BlockWord), PutError> {
        let offset = self.offset(frame.first()).ok_or(PutError::OutOfRange)?;
        let block = Block::of(offset);
        Ok((offset, block, self.block(block).ok_or(PutError::OutOfRange)?))
    }

    /// Puts a huge frame.
    pub(crate) fn put_whole(&self, frame: HugeFrame) -> Result<Block, PutError> {
        let (offset, block, word) = self.huge(frame)?;
        let before = word.put_whole().ok_or_else(|| self.not_huge(offset))?;
        order_for_loom();
        self.announce_whole(block, before);
        Ok(block)
    }

    /// Puts a block that is taken as a whole. False if it is not.
    fn put_all(&self, block: Block) -> bool {
        let before = self.block(block).and_then(BlockWord::put_all);
        order_for_loom();
        before.is_some_and(|before| {
            self.announce_whole(block, before);
            true
        })
    }

    /// Takes a huge frame out of memory.
    pub(crate) fn put_offline(&self, frame: HugeFrame) -> Result<(), PutError> {
        let (offset, _, word) = self.huge(frame)?;
        if word.put_offline() { Ok(()) } else { Err(self.not_huge(offset)) }
    }

    /// Adds an offline huge frame to memory, free.
    pub(crate) fn put_online(&self, frame: HugeFrame) -> Result<Block, PutError> {
        let (offset, block, word) = self.huge(frame)?;
        let Some(before) = word.put_online() else {
            let error = if word.load().is_huge() || word.load().is_split() {
                PutError::WrongOrder
            } else {
                self.not_huge(offset)
            };
            return Err(error);
        };
        order_for_loom();
        self.announce_whole(block, before);
        Ok(block)
    }

    /// Sets the bit of a block that has become whole.
    fn announce_whole(&self, block: Block, before: BlockState) {
        if before.is_reserved() {
            // Its home may have left it meanwhile.
            self.publish(block);
        } else {
            self.whole.insert(block);
        }
    }

    /// Turns a huge frame into 512 taken ones.
    pub(crate) fn split(&self, frame: HugeFrame) -> Result<(), PutError> {
        let (offset, _, word) = self.huge(frame)?;
        if word.split() { Ok(()) } else { Err(self.not_huge(offset)) }
    }

    /// Turns 512 taken frames into a huge one.
    pub(crate) fn join(&self, frame: HugeFrame) -> Result<(), PutError> {
        let (_, block, word) = self.huge(frame)?;
        if word.join() {
            return Ok(());
        }
        let words = self.words(block);
        let closed = words.iter().take_while(|word| word.close_taken()).count();
        if closed > 0 && closed == words.len() {
            word.make_huge();
            return Ok(());
        }
        words.iter().take(closed).for_each(StateWord::reopen_taken);
        Err(if word.load().is_huge() { PutError::WrongOrder } else { PutError::AlreadyFree })
    }

    /// The reason why a block can't be put as a huge frame.
    #[cold]
    fn not_huge(&self, offset: Offset) -> PutError {
        if self.block(Block::of(offset)).is_some_and(|block| block.load().is_split()) {
            return PutError::WrongOrder;
        }
        match self.word(offset).map(|word| word.load().state(lane_of(offset))) {
            Some(State::Free | State::Parked) => PutError::AlreadyFree,
            Some(State::Taken) => PutError::WrongOrder,
            Some(State::Closed) | None => match self.block(Block::of(offset)).map(BlockWord::load) {
                // Free as a whole, or another CPU is getting or putting it right now.
                Some(block) if !block.is_holed() && !block.is_offline() => PutError::AlreadyFree,
                _ => PutError::Absent,
            },
        }
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns a huge frame, to be put as one. If the index has none, scans memory, in steps.
    /// Drains caches only if some block lacks nothing but frames that are in them, or a watermark
    /// forbids taking a whole block.
    pub fn get_huge(&self) -> Result<HugeFrame, GetError> {
        self.get_huge_as(Urgency::Normal)
    }

    /// Returns a huge frame. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_huge_as(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        match self.huge_from_index(urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                self.huge_from_anywhere(urgency).inspect_err(|_| self.count_exhausted())
            }
            got => got,
        }
    }

    /// As [`get_huge_as`](Self::get_huge_as), but drains no cache and scans no memory: fails if the
    /// index has no whole block. The error says whether a watermark is the reason.
    pub fn try_get_huge(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        self.huge_from_index(urgency).inspect_err(|_| self.count_exhausted())
    }

    fn huge_from_index(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        let mut search = Search::default();
        let got = self.by_steps(|layers, local| layers.get_huge(local, urgency, &mut search))?;
        got.map(FrameNumber::huge).ok_or_else(|| search.error())
    }

    #[cold]
    fn huge_from_anywhere(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        let scan = |scan: &mut Scan| self.by_steps(|layers, local| layers.scan_huge(local, urgency, scan));
        let mut found = Scan::default();
        if let Some(first) = scan(&mut found)? {
            return Ok(first.huge());
        }
        if !found.may_drain() {
            return Err(found.error());
        }
        self.drain_own_magazine();
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get_huge(local, urgency, search)))?;
        if let Some(first) = got {
            return Ok(first.huge());
        }
        let mut last = Scan::default();
        scan(&mut last)?.map(FrameNumber::huge).ok_or_else(|| last.error())
    }

    /// Takes a huge frame back.
    pub fn put_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_huge(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Takes a huge frame out of memory that will be removed or has gone bad. Get it first:
    /// `get_range` with its place as bounds, then [`join_huge`](Self::join_huge). Its place in the
    /// metadata stays.
    pub fn put_offline(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.put_offline(frame)
    }

    /// Adds a huge frame to memory, free: one of [`Config::offline`](crate::Config::offline), or
    /// one taken out by [`put_offline`](Self::put_offline). Fails with [`PutError::Absent`] in a
    /// hole, and with another error if the frame is already in memory.
    pub fn put_online(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_online(local, frame)).unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Splits a huge frame into 512 taken frames, to be put one by one, in batches or as a range.
    /// As long as none is put by itself, putting the range of all of them is as fast as putting the
    /// huge frame.
    pub fn split_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.split(frame)
    }

    /// Joins 512 taken frames to the huge frame of their place, to be put as one. Fails if one of
    /// them is not taken singly; then nothing has changed.
    pub fn join_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.join(frame)
    }
}
