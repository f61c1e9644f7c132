//! One bit per block: hints for the search for free frames. The blocks' words decide whether a hint
//! is right.
//!
//! A summary has one bit per word of the index, so that a search passes over 128 MiB of memory with
//! each bit that it reads. A CPU that sets a block's bit then sets the word's bit in the summary,
//! unless it is set. Only searches clear bits of the summary: a CPU that finds the word empty
//! clears its bit, then reads the word again, and if that is not empty, sets the bit again. All
//! these steps are sequentially consistent, so of two such CPUs at least one leaves the bit set.

use crate::frame::Block;
use crate::primitive::{AtomicU64, order_for_loom};
use core::ops::Range;
use core::sync::atomic::Ordering::SeqCst;

/// Blocks per word.
pub(crate) const BITS: u32 = u64::BITS;

/// A set of blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Index<'m> {
    pub(crate) words: &'m [AtomicU64],
    pub(crate) summary: &'m [AtomicU64],
}

/// Maximum number of summary words, or of empty words, that one call passes over.
const SKIPS: u32 = 64;

/// Number of words of an index for `blocks` blocks.
pub(crate) fn words(blocks: u32) -> usize {
    blocks.div_ceil(BITS) as usize
}

/// Number of words of the summary.
pub(crate) fn summary_words(blocks: u32) -> usize {
    words(words(blocks) as u32)
}

// Orderings: SeqCst throughout. A block's bit, its word and its frames' words are different words.
// Two CPUs may each write one and then read the other's; see `range_layer`.
impl Index<'_> {
    #[inline]
    fn word(&self, block: Block) -> Option<(&AtomicU64, u64)> {
        Some((self.words.get((block.0 / BITS) as usize)?, 1 << (block.0 % BITS)))
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    fn contains(&self, block: Block) -> bool {
        self.word(block).is_some_and(|(word, bit)| word.load(SeqCst) & bit != 0)
    }

    /// Sets a block's bit. Reads first, so that setting a set bit costs no write.
    #[inline]
    pub(crate) fn insert(&self, block: Block) {
        if let Some((word, bit)) = self.word(block)
            && word.load(SeqCst) & bit == 0
        {
            word.fetch_or(bit, SeqCst);
            order_for_loom();
            self.mark(block.0 / BITS);
        }
    }

    /// Sets a word's bit in the summary.
    fn mark(&self, word: u32) {
        if let Some(marks) = self.summary.get((word / BITS) as usize)
            && marks.load(SeqCst) & 1 << (word % BITS) == 0
        {
            marks.fetch_or(1 << (word % BITS), SeqCst);
        }
    }

    /// Clears a word's bit in the summary, because the word was empty.
    #[cold]
    fn unmark(&self, word: u32) {
        if let Some(marks) = self.summary.get((word / BITS) as usize) {
            marks.fetch_and(!(1 << (word % BITS)), SeqCst);
            order_for_loom();
            if !self.is_empty(word) {
                marks.fetch_or(1 << (word % BITS), SeqCst);
            }
        }
    }

    fn is_empty(&self, word: u32) -> bool {
        self.words.get(word as usize).is_none_or(|word| word.load(SeqCst) == 0)
    }

    /// The summary bits of 64 words.
    fn marks(&self, words: u32) -> u64 {
        self.summary.get(words as usize).map_or(0, |marks| marks.load(SeqCst))
    }

    /// The first block of `within` that may have a bit; all before it have none. Bounded time: it
    /// and those behind it may have none either.
    pub(crate) fn skip_empty(&self, within: Range<u32>) -> u32 {
        let mut from = within.start;
        for _ in 0..SKIPS {
            if from >= within.end {
                break;
            }
            let word = from / BITS;
            let marks = self.marks(word / BITS) >> (word % BITS);
            if marks == 0 {
                from = (word / BITS + 1) * BITS * BITS;
                continue;
            }
            let word = word + marks.trailing_zeros();
            from = from.max(word * BITS);
            if !self.is_empty(word) {
                break;
            }
            self.unmark(word);
            from = (word + 1) * BITS;
        }
        from.min(within.end)
    }

    /// The end of the blocks of `within` that may have a bit; all from there on have none. Bounded
    /// time, as above.
    pub(crate) fn skip_empty_back(&self, within: Range<u32>) -> u32 {
        let mut end = within.end;
        for _ in 0..SKIPS {
            if end <= within.start {
                break;
            }
            let word = (end - 1) / BITS;
            let marks = self.marks(word / BITS) << (BITS - 1 - word % BITS);
            if marks == 0 {
                end = word / BITS * BITS * BITS;
                continue;
            }
            let word = word.saturating_sub(marks.leading_zeros());
            end = end.min((word + 1) * BITS);
            if !self.is_empty(word) {
                break;
            }
            self.unmark(word);
            end = word * BITS;
        }
        end.max(within.start)
    }

    /// Returns true if the bit was set. If several CPUs remove it at once, only one gets true.
    pub(crate) fn remove(&self, block: Block) -> bool {
        self.word(block)
            .is_some_and(|(word, bit)| word.load(SeqCst) & bit != 0 && word.fetch_and(!bit, SeqCst) & bit != 0)
    }

    /// Bits of a word, counted from block 0, restricted to the blocks of `within`.
    fn bits(&self, word: u32, within: &Range<u32>) -> u64 {
        let bits = self.words.get(word as usize).map_or(0, |word| word.load(SeqCst));
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
    use std::vec::Vec;

    #[test]
    fn finds_what_is_within() {
        let arrays = [const { [const { AtomicU64::new(0) }; 3] }; 4];
        let index = Index { words: &arrays[0], summary: &arrays[1][..1] };
        let others = Index { words: &arrays[2], summary: &arrays[3][..1] };
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

    #[test]
    fn empty_words_are_skipped() {
        const WORDS: u32 = 70 * BITS;
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let summary: Vec<AtomicU64> = (0..summary_words(WORDS * BITS)).map(|_| AtomicU64::new(0)).collect();
        let (index, all) = (Index { words: &words, summary: &summary }, WORDS * BITS);
        let (low, high) = (Block(3 * BITS * BITS + 7), Block(66 * BITS * BITS - 1));
        assert_eq!(index.skip_empty(5..all), 64 * BITS * BITS, "a bounded number of them");
        assert_eq!(index.skip_empty_back(5..all), 6 * BITS * BITS);
        [low, high].into_iter().for_each(|block| index.insert(block));
        assert_eq!(index.skip_empty(5..all), low.0 / BITS * BITS);
        assert_eq!([index.skip_empty(low.0..all), index.skip_empty(5..900)], [low.0, 900]);
        assert_eq!(index.skip_empty(low.0 / BITS * BITS + BITS..all), high.0 / BITS * BITS);
        assert_eq!(index.skip_empty_back(0..all), high.0 + 1);
        assert_eq!([index.skip_empty_back(0..high.0), index.skip_empty_back(all - 9..all)], [high.0, all - 9]);
        assert_eq!(index.skip_empty_back(0..high.0 / BITS * BITS), low.0 / BITS * BITS + BITS);
        // Empty words are passed over, and no longer in the summary.
        assert!(index.remove(low) && index.remove(high));
        assert_eq!(
            [index.skip_empty(low.0..high.0 + 1), index.skip_empty_back(low.0..high.0 + 1)],
            [high.0 + 1, low.0]
        );
        assert!(summary.iter().all(|marks| marks.load(SeqCst) == 0));
        index.insert(high);
        assert_eq!(index.skip_empty(low.0..all), high.0 / BITS * BITS);
    }
}
