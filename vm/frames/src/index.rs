//! One bit per block: hints where to look for free frames. The blocks' words decide whether a hint is right.

use crate::frame::Block;
use crate::primitive::AtomicU64;
use core::ops::Range;
use core::sync::atomic::Ordering::SeqCst;

/// Blocks per word.
pub(crate) const BITS: u32 = u64::BITS;

/// A set of blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Index<'m>(pub(crate) &'m [AtomicU64]);

/// Number of words of an index for `blocks` blocks.
pub(crate) fn words(blocks: u32) -> usize {
    blocks.div_ceil(BITS) as usize
}

// Orderings: SeqCst throughout. A block's bit, its word and its frames' words are different words. Two CPUs may each
// write one and then read the other's; see `range_layer`.
impl Index<'_> {
    #[inline]
    fn word(&self, block: Block) -> Option<(&AtomicU64, u64)> {
        Some((self.0.get((block.0 / BITS) as usize)?, 1 << (block.0 % BITS)))
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    fn contains(&self, block: Block) -> bool {
        self.word(block).is_some_and(|(word, bit)| word.load(SeqCst) & bit != 0)
    }

    /// Reads first, so that setting a bit that is already set costs no write.
    #[inline]
    pub(crate) fn insert(&self, block: Block) {
        if let Some((word, bit)) = self.word(block)
            && word.load(SeqCst) & bit == 0
        {
            word.fetch_or(bit, SeqCst);
        }
    }

    /// Returns true if the bit was set. If several CPUs remove it at once, only one gets true.
    pub(crate) fn remove(&self, block: Block) -> bool {
        self.word(block)
            .is_some_and(|(word, bit)| word.load(SeqCst) & bit != 0 && word.fetch_and(!bit, SeqCst) & bit != 0)
    }

    /// Bits of a word, counted from block 0, restricted to the blocks of `within`.
    fn bits(&self, word: u32, within: &Range<u32>) -> u64 {
        let bits = self.0.get(word as usize).map_or(0, |word| word.load(SeqCst));
        let first = word * BITS;
        let below = within.start.saturating_sub(first);
        let above = within.end.saturating_sub(first);
        let keep = |count: u32| if count >= BITS { u64::MAX } else { (1 << count) - 1 };
        bits & keep(above) & !keep(below)
    }

    /// The lowest block at or after `within.start` that is in this index and not in `except`.
    pub(crate) fn first(&self, within: Range<u32>, except: Option<Index<'_>>) -> Option<Block> {
        (within.start / BITS..within.end.div_ceil(BITS)).find_map(|word| {
            let bits = self.bits(word, &within) & !except.map_or(0, |except| except.bits(word, &within));
            (bits != 0).then(|| Block(word * BITS + bits.trailing_zeros()))
        })
    }

    /// The highest block below `within.end` that is in this index.
    pub(crate) fn last(&self, within: Range<u32>) -> Option<Block> {
        (within.start / BITS..within.end.div_ceil(BITS)).rev().find_map(|word| {
            let bits = self.bits(word, &within);
            (bits != 0).then(|| Block(word * BITS + (BITS - 1 - bits.leading_zeros())))
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_within() {
        let words = [const { AtomicU64::new(0) }; 3];
        let others = [const { AtomicU64::new(0) }; 3];
        let (index, others) = (Index(&words), Index(&others));
        for block in [3, 64, 70, 130] {
            index.insert(Block(block));
        }
        others.insert(Block(64));
        assert_eq!(index.first(0..192, None), Some(Block(3)));
        assert_eq!(index.first(4..192, None), Some(Block(64)));
        assert_eq!(index.first(4..192, Some(others)), Some(Block(70)));
        assert_eq!(index.first(71..130, None), None);
        assert_eq!(index.first(71..131, None), Some(Block(130)));
        assert_eq!(index.last(0..192), Some(Block(130)));
        assert_eq!(index.last(0..130), Some(Block(70)));
        assert_eq!(index.last(4..64), None);
        assert_eq!(index.last(5..5), None);
        assert!(index.remove(Block(70)) && !index.remove(Block(70)) && !index.contains(Block(70)));
    }
}
