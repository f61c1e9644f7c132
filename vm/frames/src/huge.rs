//! Huge frames: whole blocks, whose frames are closed word by word, and whose block word has the huge bit.
//!
//! The huge bit decides who may act. It is set after the last word is closed. The CPU that puts the huge frame clears
//! it before it opens the first word again. If a single frame of a huge frame is put by mistake, its state is closed
//! and the put is refused.

use crate::counters::Event;
use crate::error::{GetError, PutError};
use crate::frame::{FrameNumber, HUGE_FRAMES};
use crate::pool::{Local, Pool};
use crate::pressure::Urgency;
use crate::primitive::order_for_loom;
use crate::state::{FRAMES_PER_BLOCK, Offset, State, lane_of};
use core::ops::Range;

impl<'m> Pool<'m> {
    /// Takes a whole block. Tries the end of this CPU's share, which refills use last; then its domain, the other
    /// domains, and finally any block.
    pub(crate) fn get_huge(&self, local: &Local<'m>, urgency: Urgency) -> Result<Offset, GetError> {
        let got = self.huge_by_index(local, urgency).or_else(|| {
            // Frames in caches may be all that is missing.
            self.drain_all(local);
            self.huge_by_index(local, urgency).or_else(|| self.huge_from_anywhere(local, urgency))
        });
        let Some(block) = got else {
            local.count(Event::Exhausted, 1);
            let kept =
                self.domain_ids().any(|domain| self.allowance(local, domain, urgency, HUGE_FRAMES) < HUGE_FRAMES);
            let kept = kept && self.whole.first(0..self.blocks.len() as u32, None).is_some();
            return Err(if kept { GetError::AtMinimum } else { GetError::Exhausted });
        };
        local.count(Event::HugeGet, 1);
        if let Some(word) = self.blocks.get(block as usize) {
            let domain = word.glance().domain();
            self.note_free(local, domain, -(HUGE_FRAMES as i64));
        }
        Ok(block * FRAMES_PER_BLOCK)
    }

    fn huge_by_index(&self, local: &Local<'m>, urgency: Urgency) -> Option<u32> {
        let own = local.cache.domain;
        let all = |domain: u8| self.extents.get(usize::from(domain)).map_or(0..0, |extent| extent.blocks());
        let places = core::iter::once((own, local.cache.share.0..local.cache.share.1))
            .chain(core::iter::once((own, all(own.0))))
            .chain(self.others(own).map(|domain| (domain, all(domain.0))));
        for (domain, within) in places {
            if self.allowance(local, domain, urgency, HUGE_FRAMES) < HUGE_FRAMES {
                continue;
            }
            let mut end = within.end;
            while let Some(block) = self.whole.last(within.start..end) {
                end = block;
                if self.blocks.get(block as usize).is_some_and(|word| word.glance().domain() == domain)
                    && self.whole.remove(block)
                    && self.close(block)
                {
                    return Some(block);
                }
            }
        }
        None
    }

    /// Takes a block that is whole but reserved, or whole without its index bit.
    fn huge_from_anywhere(&self, local: &Local<'m>, urgency: Urgency) -> Option<u32> {
        local.count(Event::Scan, 1);
        self.blocks_of(|domain| self.allowance(local, domain, urgency, HUGE_FRAMES) >= HUGE_FRAMES)
            .map(|(block, _)| block)
            .find(|&block| self.words(block).iter().all(|word| word.load().is_all_free()) && self.close(block))
    }

    /// Closes all words of a block, or none.
    fn close(&self, block: u32) -> bool {
        let words = self.words(block);
        let closed = words.iter().take_while(|word| word.close()).count();
        if closed == words.len() {
            if let Some(word) = self.blocks.get(block as usize) {
                word.make_huge();
            }
            return true;
        }
        self.reopen(block, 0..closed);
        false
    }

    fn reopen(&self, block: u32, words: Range<usize>) {
        for word in self.words(block).get(words).unwrap_or(&[]) {
            word.reopen();
        }
        order_for_loom();
        self.publish(block);
    }

    /// Takes a huge frame back.
    pub(crate) fn put_huge(&self, local: &Local<'m>, frame: FrameNumber) -> Result<(), PutError> {
        let offset = self.offset(frame).ok_or(PutError::OutOfRange)?;
        if offset % FRAMES_PER_BLOCK != 0 {
            return Err(PutError::Misaligned);
        }
        let block = offset / FRAMES_PER_BLOCK;
        let word = self.blocks.get(block as usize).ok_or(PutError::OutOfRange)?;
        if !word.end_huge() {
            let state = self.state_word(offset).map(|word| word.load().state(lane_of(offset)));
            return Err(match state {
                Some(State::Free | State::Parked) => PutError::AlreadyFree,
                Some(State::Taken) => PutError::WrongOrder,
                // Another CPU is getting or putting it at this moment.
                Some(State::Closed) if !word.glance().is_holed() => PutError::AlreadyFree,
                Some(State::Closed) | None => PutError::Absent,
            });
        }
        self.note_free(local, word.glance().domain(), HUGE_FRAMES as i64);
        self.reopen(block, 0..self.words(block).len());
        local.count(Event::HugePut, 1);
        Ok(())
    }
}
