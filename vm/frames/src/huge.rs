//! Huge frames: blocks that are taken and put as a whole, by one step on the block's word. See `block`.

use crate::block::{BlockState, BlockWord};
use crate::counters::Event;
use crate::error::PutError;
use crate::frame::{Block, FRAMES_PER_BLOCK, Offset};
use crate::layers::{Layers, Local};
use crate::pressure::Urgency;
use crate::primitive::order_for_loom;
use crate::range_layer::RangeLayer;
use crate::search::{Search, Step};
use crate::state::{ALL_LANES, State, StateWord, Word, lane_of};
use faultline_numbers::HugeFrame;

impl<'m> Layers<'m> {
    /// A step of a get of a huge frame: first tries the last one of its own domain that this CPU has put.
    pub(crate) fn get_huge(&self, local: &Local<'m>, urgency: Urgency, search: &mut Search) -> Step<Offset> {
        if let Some(block) = local.cache.take_huge_hint()
            && self.may_take_huge(local, block, urgency)
            && self.range.take_hinted(block)
        {
            return Step::Found(self.note_huge(local, block));
        }
        match self.find_huge(local, urgency, search) {
            Step::Found(block) => Step::Found(self.note_huge(local, block)),
            Step::More => Step::More,
            Step::Nothing => Step::Nothing,
        }
    }

    /// Whether the min watermark of a block's domain permits to take all of the block.
    pub(crate) fn may_take_huge(&self, local: &Local<'m>, block: Block, urgency: Urgency) -> bool {
        let huge = u64::from(FRAMES_PER_BLOCK);
        self.range.block(block).is_some_and(|word| self.allowance(local, word.glance().domain(), urgency, huge) >= huge)
    }

    /// Accounts for a huge frame that was taken. Returns its first frame.
    pub(crate) fn note_huge(&self, local: &Local<'m>, block: Block) -> Offset {
        local.count(Event::HugeGet, 1);
        if let Some(word) = self.range.block(block) {
            self.note_free(local, word.glance().domain(), -i64::from(FRAMES_PER_BLOCK));
        }
        block.first()
    }

    /// Takes a huge frame back.
    pub(crate) fn put_huge(&self, local: &Local<'m>, frame: HugeFrame) -> Result<(), PutError> {
        let block = self.range.put_whole(frame)?;
        if let Some(domain) = self.range.block(block).map(|word| word.glance().domain()) {
            self.note_free(local, domain, i64::from(FRAMES_PER_BLOCK));
            if domain == local.cache.domain {
                local.cache.set_huge_hint(block);
            }
        }
        local.count(Event::HugePut, 1);
        Ok(())
    }

    /// Adds an offline huge frame to memory.
    pub(crate) fn put_online(&self, local: &Local<'m>, frame: HugeFrame) -> Result<(), PutError> {
        let block = self.range.put_online(frame)?;
        if let Some(word) = self.range.block(block) {
            self.note_free(local, word.glance().domain(), i64::from(FRAMES_PER_BLOCK));
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
            // We have removed a bit that the block may need.
            self.publish(block);
        }
        taken
    }

    /// Takes a block that was whole when last seen. Its bit stays: whoever follows it finds the block taken and removes it,
    /// and if the frame is put before, its bit is already set. Returns false if the block is not whole any more.
    pub(crate) fn take_hinted(&self, block: Block) -> bool {
        self.block(block).is_some_and(BlockWord::take_whole)
    }

    /// Takes a block whose frames are all free, in whatever state it is otherwise. Returns false if there is a frame
    /// that is not free.
    pub(crate) fn take_all_free(&self, block: Block) -> bool {
        let Some(word) = self.block(block).filter(|word| !word.glance().is_holed()) else { return false };
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

    /// Takes a huge frame out of memory.
    pub(crate) fn put_offline(&self, frame: HugeFrame) -> Result<(), PutError> {
        let (offset, _, word) = self.huge(frame)?;
        if word.put_offline() { Ok(()) } else { Err(self.not_huge(offset)) }
    }

    /// Adds an offline huge frame to memory, free.
    pub(crate) fn put_online(&self, frame: HugeFrame) -> Result<Block, PutError> {
        let (offset, block, word) = self.huge(frame)?;
        let Some(before) = word.put_online() else {
            let error = if word.load().is_huge() { PutError::WrongOrder } else { self.not_huge(offset) };
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
        let (offset, block, word) = self.huge(frame)?;
        let before = word.end_huge().ok_or_else(|| self.not_huge(offset))?;
        // A bit that a hint has left; nobody needs it, since no frame of the block is free.
        self.whole.remove(block);
        self.open_words(block, before, Word(ALL_LANES), StateWord::reopen_taken);
        Ok(())
    }

    /// Turns 512 taken frames into a huge one.
    pub(crate) fn join(&self, frame: HugeFrame) -> Result<(), PutError> {
        let (_, block, word) = self.huge(frame)?;
        let words = self.words(block);
        let closed = words.iter().take_while(|word| word.close_taken()).count();
        if closed > 0 && closed == words.len() {
            word.make_huge();
            return Ok(());
        }
        words.iter().take(closed).for_each(StateWord::reopen_taken);
        Err(if word.load().is_huge() { PutError::WrongOrder } else { PutError::AlreadyFree })
    }

    /// Why a block can't be put as a huge frame.
    #[cold]
    fn not_huge(&self, offset: Offset) -> PutError {
        match self.word(offset).map(|word| word.load().state(lane_of(offset))) {
            Some(State::Free | State::Parked) => PutError::AlreadyFree,
            Some(State::Taken) => PutError::WrongOrder,
            Some(State::Closed) | None => match self.block(Block::of(offset)).map(BlockWord::load) {
                // Free as a whole, or another CPU is getting or putting it at this moment.
                Some(block) if !block.is_holed() && !block.is_offline() => PutError::AlreadyFree,
                _ => PutError::Absent,
            },
        }
    }
}
