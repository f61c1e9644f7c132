//! Counts all frames by state, word by word. Exact while no call is under way.

use crate::pool::Pool;
use crate::state::FRAMES_PER_BLOCK;

/// Frames by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// In the range layer.
    pub free: u64,
    /// In caches, and zeroed frames in their slots.
    pub parked: u64,
    /// Taken by users, singly or in ranges.
    pub taken: u64,
    /// Taken by users, as huge frames.
    pub huge: u64,
    /// In holes.
    pub absent: u64,
    /// Blocks whose frames are all free: huge frames that could be allocated. A number of blocks, not frames; their
    /// frames also count as `free`.
    pub whole_blocks: u64,
}

impl Pool<'_> {
    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        for (block, word) in (0..).zip(self.blocks) {
            let count = |lanes: fn(crate::state::Word) -> u64| -> u64 {
                self.words(block).iter().map(|word| u64::from(lanes(word.load()).count_ones())).sum()
            };
            let free = count(crate::state::Word::free);
            census.free += free;
            census.whole_blocks += u64::from(free == u64::from(FRAMES_PER_BLOCK));
            census.parked += count(crate::state::Word::parked);
            census.taken += count(crate::state::Word::taken);
            let closed = count(crate::state::Word::closed);
            *if word.load().is_huge() { &mut census.huge } else { &mut census.absent } += closed;
        }
        census
    }
}
