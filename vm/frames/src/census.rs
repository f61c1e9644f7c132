//! Counts all frames by state, word by word. Exact while no call is under way.

use crate::frame::{Block, FRAMES_PER_BLOCK};
use crate::range_layer::RangeLayer;
use crate::state::{Lanes, Word};

/// Frames by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Census {
    /// In the range layer.
    pub free: u64,
    /// In caches, and zeroed frames in their slots.
    pub parked: u64,
    /// Taken by users, singly or in ranges.
    pub taken: u64,
    /// Taken by users, as huge frames.
    pub huge: u64,
    /// In holes, and offline.
    pub absent: u64,
    /// Blocks whose frames are all free: huge frames that could be allocated. A number of blocks, not frames; their
    /// frames also count as `free`.
    pub whole_blocks: u64,
}

impl RangeLayer<'_> {
    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        for (block, word) in (0..).map(Block).zip(self.blocks) {
            let state = word.load();
            let count = |lanes: fn(Word) -> Lanes| -> u64 {
                self.words(block).iter().map(|word| u64::from(lanes(word.load()).count_ones())).sum()
            };
            let all = u64::from(FRAMES_PER_BLOCK);
            if state.is_huge() {
                census.huge += all;
            } else if state.is_whole() {
                census.free += all;
                census.whole_blocks += 1;
            } else if state.is_offline() || !state.is_opened() {
                census.absent += all;
            } else {
                let free = count(Word::free);
                census.free += free;
                census.whole_blocks += u64::from(free == all);
                census.parked += count(Word::parked);
                census.taken += count(Word::taken);
                census.absent += count(Word::closed);
            }
        }
        census
    }
}
