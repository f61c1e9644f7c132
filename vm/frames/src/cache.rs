//! A CPU's cache: the current magazine, which only this CPU touches, and the stock behind it.

use crate::config::MOST_DOMAINS;
use crate::counters::CpuCounts;
use crate::frame::{Block, Offset, WORDS_PER_BLOCK};
use crate::state::word_of;
use crate::stock::{MAGAZINE, Stock};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use faultline_numbers::DomainId;

/// Initial limit of a stock, in magazines.
const STOCK_FIRST: u32 = 2;

/// After a failed search for room, skip the search for the next 15 puts (half a magazine).
const UNASKED: u32 = MAGAZINE as u32 / 2 - 1;

/// Fields: \[c] written only by the cache's CPU, with plain stores; others may read them for
/// figures; \[p] written by its CPU and by the CPU that ages caches, where a lost change does no
/// harm; \[s] see [`Stock`]; \[I] immutable. Data that others write is on separate lines.
///
/// Orderings: all of \[c] and \[p] are relaxed. A CPU sees its own writes in order. If another CPU
/// acts in its place (see `Frames::drain_offline`), the first CPU's writes were made visible there
/// when it was taken offline.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Cache {
    /// \[c] Frames in `current`.
    length: AtomicU32,
    /// \[c] The block reserved, plus 1; 0: none.
    reserved: AtomicU32,
    /// \[c] The next word of the reserved block to search.
    cursor: AtomicU32,
    /// \[c] The last huge frame of its own domain that this CPU has put, as its block plus 1; 0:
    /// none. A hint: it may be taken.
    huge: AtomicU32,
    /// \[c] In the last refill, the first word searched had a full magazine of free frames: all 32.
    filled: AtomicBool,
    /// \[c] Frames went back to the range layer since the last refill.
    overflowed: AtomicBool,
    /// \[c] Number of puts that still skip the search for room.
    unasked: AtomicU32,
    /// \[I]
    pub(crate) domain: DomainId,
    /// \[I] Blocks to search first.
    pub(crate) share: (u32, u32),
    /// \[c]
    current: [AtomicU32; MAGAZINE],
    /// \[c]
    pub(crate) counts: CpuCounts,
    /// \[c] The block reserved for runs, plus 1; 0: none.
    run_block: AtomicU32,
    /// \[c] The word of that block that the last run came from.
    run_word: AtomicU32,
    /// \[c] Free frames of each domain on this CPU's account, which the domain's count does not
    /// contain. Never negative.
    accounts: [AtomicI32; MOST_DOMAINS],
    /// \[s]
    pub(crate) stock: Stock,
    /// \[p] Maximum of `limit`.
    most: AtomicU32,
    /// \[p] Maximum number of places of the stock in use.
    limit: AtomicU32,
    /// \[p] Set at each refill, cleared when caches age.
    pub(crate) busy: AtomicBool,
}

impl Cache {
    pub(crate) fn new(domain: DomainId, share: Range<u32>, stock_most: u8) -> Self {
        Self {
            length: AtomicU32::new(0),
            reserved: AtomicU32::new(0),
            cursor: AtomicU32::new(0),
            huge: AtomicU32::new(0),
            filled: AtomicBool::new(false),
            overflowed: AtomicBool::new(false),
            unasked: AtomicU32::new(0),
            domain,
            share: (share.start, share.end),
            current: [const { AtomicU32::new(0) }; MAGAZINE],
            counts: CpuCounts::new(),
            run_block: AtomicU32::new(0),
            run_word: AtomicU32::new(0),
            accounts: [const { AtomicI32::new(0) }; MOST_DOMAINS],
            stock: Stock::new(),
            most: AtomicU32::new(stock_most.into()),
            limit: AtomicU32::new(STOCK_FIRST.min(u32::from(stock_most))),
            busy: AtomicBool::new(false),
        }
    }

    /// Takes the frame that was put last.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<Offset> {
        let length = self.length.load(Relaxed).wrapping_sub(1);
        let offset = self.current.get(length as usize)?.load(Relaxed);
        self.length.store(length, Relaxed);
        Some(offset)
    }

    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.room() > 0
    }

    #[inline(always)]
    pub(crate) fn room(&self) -> u32 {
        MAGAZINE as u32 - self.length()
    }

    #[inline(always)]
    pub(crate) fn length(&self) -> u32 {
        self.length.load(Relaxed)
    }

    /// Does nothing if there is no room; callers check first.
    #[inline(always)]
    pub(crate) fn push(&self, offset: Offset) {
        let length = self.length.load(Relaxed);
        if let Some(slot) = self.current.get(length as usize) {
            slot.store(offset, Relaxed);
            self.length.store(length + 1, Relaxed);
        }
    }

    /// Moves the full current magazine into the stock. Returns false if the stock has no place.
    pub(crate) fn push_to_stock(&self) -> bool {
        let pushed = self.stock.push(self.limit.load(Relaxed) as usize, |index| self.at(index));
        if pushed {
            self.length.store(0, Relaxed);
        }
        pushed
    }

    /// Makes a magazine of the stock the current one, which is empty. Returns false if the stock
    /// has none.
    pub(crate) fn pop_from_stock(&self) -> bool {
        let Some(frames) = self.stock.pop(0) else { return false };
        for offset in frames {
            self.push(offset);
        }
        true
    }

    fn at(&self, index: usize) -> Offset {
        self.current.get(index).map_or(0, |slot| slot.load(Relaxed))
    }

    /// True if the full current magazine's frames seem to lie in one word or two neighbouring
    /// words. Checks only the frames that were put first, last and in the middle.
    fn lies_close(&self) -> bool {
        let word = |index: usize| word_of(self.at(index));
        let last = word(MAGAZINE - 1);
        (word(0).abs_diff(last) <= 1) & (word(MAGAZINE / 2).abs_diff(last) <= 1)
    }

    /// Takes all frames out of the current magazine. The rest of the returned array is meaningless.
    pub(crate) fn take_all(&self) -> ([Offset; MAGAZINE], usize) {
        let length = self.length() as usize;
        self.length.store(0, Relaxed);
        (core::array::from_fn(|index| self.at(index)), length)
    }

    /// The reserved block and its words that were not searched yet.
    pub(crate) fn reservation(&self) -> Option<(Block, Range<u32>)> {
        let block = self.reserved.load(Relaxed).checked_sub(1)?;
        Some((Block(block), self.cursor.load(Relaxed)..WORDS_PER_BLOCK))
    }

    pub(crate) fn set_reservation(&self, block: Option<Block>) {
        self.reserved.store(block.map_or(0, |block| block.0 + 1), Relaxed);
        self.cursor.store(0, Relaxed);
    }

    /// Notes that all words before `word` of the block were searched, if it is the reserved block.
    pub(crate) fn set_cursor(&self, block: Block, word: u32) {
        if self.reserved.load(Relaxed) == block.0 + 1 {
            self.cursor.store(word, Relaxed);
        }
    }

    /// True if the first word of the last refill had a full magazine of free frames. Then the next
    /// word probably has, too: memory that was never used, or that another CPU puts in the order of
    /// its gets, is free in long stretches.
    #[inline]
    pub(crate) fn was_filled(&self) -> bool {
        self.filled.load(Relaxed)
    }

    #[inline]
    pub(crate) fn note_filled(&self, filled: bool) {
        self.filled.store(filled, Relaxed);
    }

    /// Resets the cursor to a word in which frames were freed, if it is in the reserved block.
    pub(crate) fn turn_back(&self, block: Block, word: u32) {
        if self.reserved.load(Relaxed) == block.0 + 1 && self.cursor.load(Relaxed) > word {
            self.cursor.store(word, Relaxed);
        }
    }

    /// Free frames of a domain on this CPU's account.
    #[inline(always)]
    pub(crate) fn account(&self, domain: DomainId) -> i64 {
        self.accounts.get(usize::from(domain.0)).map_or(0, |account| i64::from(account.load(Relaxed)))
    }

    #[inline(always)]
    pub(crate) fn set_account(&self, domain: DomainId, frames: i64) {
        if let Some(account) = self.accounts.get(usize::from(domain.0)) {
            account.store(frames as i32, Relaxed);
        }
    }

    /// Takes the hint: the block of the last huge frame of its own domain that this CPU has put.
    #[inline]
    pub(crate) fn take_huge_hint(&self) -> Option<Block> {
        let block = self.huge.load(Relaxed).checked_sub(1)?;
        self.huge.store(0, Relaxed);
        Some(Block(block))
    }

    #[inline]
    pub(crate) fn set_huge_hint(&self, block: Block) {
        self.huge.store(block.0 + 1, Relaxed);
    }

    /// The block reserved for runs, and the word to search first.
    pub(crate) fn run_block(&self) -> Option<(Block, u32)> {
        let block = self.run_block.load(Relaxed).checked_sub(1)?;
        Some((Block(block), self.run_word.load(Relaxed)))
    }

    pub(crate) fn set_run_block(&self, block: Option<Block>) {
        self.run_block.store(block.map_or(0, |block| block.0 + 1), Relaxed);
        self.run_word.store(0, Relaxed);
    }

    pub(crate) fn set_run_word(&self, word: u32) {
        self.run_word.store(word, Relaxed);
    }

    /// Notes whether frames went back to the range layer because the cache was full.
    #[inline]
    pub(crate) fn note_overflow(&self, overflow: bool) {
        self.overflowed.store(self.overflowed.load(Relaxed) | overflow, Relaxed);
    }

    /// True if room can be made in the full current magazine: the stock seems to have a place, or
    /// the frames lie close together. After false, skips the check the next few times.
    #[inline]
    pub(crate) fn may_make_room(&self) -> bool {
        let unasked = self.unasked.load(Relaxed);
        if unasked > 0 {
            self.unasked.store(unasked - 1, Relaxed);
            return false;
        }
        let may = self.stock.has_place(self.limit.load(Relaxed) as usize) || self.lies_close();
        self.unasked.store(if may { 0 } else { UNASKED }, Relaxed);
        may
    }

    /// Notes a refill from the range layer. If frames went back there since the last refill, a
    /// larger stock would have avoided both, so its limit grows.
    pub(crate) fn note_refill(&self) {
        self.busy.store(true, Relaxed);
        if self.overflowed.load(Relaxed) {
            self.overflowed.store(false, Relaxed);
            let limit = self.limit.load(Relaxed);
            if limit < self.most.load(Relaxed) {
                self.limit.store(limit + 1, Relaxed);
            }
        }
    }

    /// Sets the maximum of the stock's limit. Magazines above it remain until the cache ages or is
    /// drained.
    pub(crate) fn set_stock_most(&self, most: u8) {
        self.most.store(most.into(), Relaxed);
        self.limit.store(self.limit.load(Relaxed).min(most.into()), Relaxed);
    }

    /// Lowers the stock's limit to its maximum, and by one more if there was no refill since the
    /// last call. Returns the limit.
    pub(crate) fn age(&self) -> usize {
        let mut limit = self.limit.load(Relaxed);
        if self.busy.load(Relaxed) {
            self.busy.store(false, Relaxed);
        } else {
            limit = limit.saturating_sub(1);
        }
        limit = limit.min(self.most.load(Relaxed));
        self.limit.store(limit, Relaxed);
        limit as usize
    }

    /// Frames in the current magazine and the stock.
    pub(crate) fn held(&self) -> u64 {
        u64::from(self.length()) + self.stock.held()
    }
}
