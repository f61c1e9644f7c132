//! The last resort: takes free frames wherever they are, even from blocks that other CPUs have reserved, in steps of
//! [`BLOCKS_PER_STEP`] blocks.

use crate::block::BlockWord;
use crate::counters::Event;
use crate::error::GetError;
use crate::frame::{Block, FRAMES_PER_BLOCK, Offset, WORDS_PER_BLOCK};
use crate::layers::{Layers, Local};
use crate::pressure::Urgency;
use crate::search::Step;

/// Blocks that a step looks at: 128 MiB of memory, some microseconds if no word is in a cache.
pub(crate) const BLOCKS_PER_STEP: u32 = 64;

/// How far a scan of all memory has come: first the blocks of the CPU's own domain, then all others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scan {
    is_in_others: bool,
    next: u32,
    /// A min watermark has forbidden to take free frames.
    is_kept: bool,
}

impl Scan {
    /// Why it found nothing.
    pub(crate) fn error(&self) -> GetError {
        if self.is_kept { GetError::AtMinimum } else { GetError::Exhausted }
    }
}

impl<'m> Layers<'m> {
    /// A step that takes a single frame.
    pub(crate) fn scan(&self, local: &Local<'m>, urgency: Urgency, scan: &mut Scan) -> Step<Offset> {
        if let Some(offset) = self.pop(local) {
            return Step::Found(offset);
        }
        self.scan_blocks(local, scan, |block, scan| {
            if self.range.free_in_block(block) == 0 {
                return None;
            }
            self.range.break_whole(block);
            let got = self.park_from(local, block, 0..WORDS_PER_BLOCK, urgency) > 0;
            self.range.publish(block);
            scan.is_kept |= !got;
            got.then(|| self.pop(local)).flatten()
        })
    }

    /// A step that takes a block that is whole, though it is reserved or has no bit in the index.
    pub(crate) fn scan_huge(&self, local: &Local<'m>, urgency: Urgency, scan: &mut Scan) -> Step<Offset> {
        self.scan_blocks(local, scan, |block, scan| {
            if self.range.free_in_block(block) < FRAMES_PER_BLOCK {
                return None;
            }
            if !self.may_take_huge(local, block, urgency) {
                scan.is_kept = true;
                return None;
            }
            self.range.take_all_free(block).then(|| self.note_huge(local, block))
        })
    }

    fn scan_blocks(
        &self,
        local: &Local<'m>,
        scan: &mut Scan,
        mut take: impl FnMut(Block, &mut Scan) -> Option<Offset>,
    ) -> Step<Offset> {
        if scan.next == 0 && !scan.is_in_others {
            local.count(Event::Scan, 1);
        }
        let end = scan.next.saturating_add(BLOCKS_PER_STEP).min(self.range.blocks.len() as u32);
        for block in (scan.next..end).map(Block) {
            let domain = self.range.block(block).map(BlockWord::glance).map(|state| state.domain());
            if (domain != Some(local.cache.domain)) == scan.is_in_others
                && let Some(offset) = take(block, scan)
            {
                return Step::Found(offset);
            }
        }
        if end < self.range.blocks.len() as u32 {
            scan.next = end;
        } else if scan.is_in_others {
            return Step::Nothing;
        } else {
            (scan.is_in_others, scan.next) = (true, 0);
        }
        Step::More
    }
}
