//! Pages, and the hash by which a page of an object is found without a lock.
//!
//! A page is *soft-busy* while faults use it, any number at once, and *busy* while one thread gives it another identity: it waits until no fault
//! uses the page. A slot of the hash is a guess: who finds a page there makes it soft-busy, and looks whether it is the right one.
//!
//! Fields: \[a] one atomic word by itself; \[b] written by who has the page busy, read by who has it soft-busy.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BUSY: u32 = 1 << 31;

/// A page, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Page {
    /// \[a] `BUSY`, or how many have it soft-busy.
    busy: AtomicU32,
    /// \[a] Whether a writable mapping may be made of it: it counts as dirty. Relaxed: a hint of what reclaim must write back.
    dirty: AtomicU32,
    /// \[b] The object's number, 0 for none.
    object: AtomicU64,
    /// \[b]
    index: AtomicU64,
}

impl Page {
    /// Makes it busy.
    fn make_busy(&self) {
        // Relaxed: a guess. Acquire: pairs with the release of who had it busy or soft-busy.
        let take = || self.busy.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed);
        while self.busy.load(Ordering::Relaxed) != 0 || take().is_err() {
            spin_loop();
        }
    }

    /// Makes it soft-busy. False if it is busy.
    fn try_soft_busy(&self) -> bool {
        let mut busy = self.busy.load(Ordering::Relaxed);
        while busy & BUSY == 0 {
            // Acquire: pairs with the release in `set`: the page's identity and contents.
            match self.busy.compare_exchange(busy, busy + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => busy = found,
            }
        }
        false
    }

    /// Ends that.
    pub(super) fn end_soft_busy(&self) {
        // Release: pairs with the acquire in `make_busy`.
        self.busy.fetch_sub(1, Ordering::Release);
    }

    /// Makes it soft-busy, and waits if it must.
    pub(super) fn soft_busy(&self) {
        while !self.try_soft_busy() {
            spin_loop();
        }
    }

    /// Makes it the page of an object, or of none.
    pub(super) fn set(&self, object: u64, index: u64) {
        self.make_busy();
        // Relaxed: released with the busy bit.
        self.object.store(object, Ordering::Relaxed);
        self.index.store(index, Ordering::Relaxed);
        self.dirty.store(0, Ordering::Relaxed);
        // Release: pairs with the acquires of who makes it busy or soft-busy next.
        self.busy.store(0, Ordering::Release);
    }

    /// For who has it soft-busy.
    fn is(&self, object: u64, index: u64) -> bool {
        self.object.load(Ordering::Relaxed) == object && self.index.load(Ordering::Relaxed) == index
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Relaxed) != 0
    }

    pub(super) fn make_dirty(&self) {
        if !self.is_dirty() {
            self.dirty.store(1, Ordering::Relaxed);
        }
    }
}

/// The hash: one page for each slot, the last that was looked for.
#[derive(Debug)]
pub(super) struct Hash {
    /// \[a] Indices of pages, plus 1.
    slots: Box<[AtomicU32]>,
}

impl Hash {
    /// For this many pages: twice as many slots.
    pub(super) fn new(pages: u32) -> Self {
        Hash { slots: (0..(2 * pages as usize).next_power_of_two()).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Neighbouring pages of an object have neighbouring slots.
    fn slot(&self, object: u64, index: u64) -> &AtomicU32 {
        let begin = (object >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        &self.slots[begin.wrapping_add(index) as usize & (self.slots.len() - 1)]
    }

    /// A page of an object, made soft-busy. None: look in the object.
    pub(super) fn get(&self, pages: &[Page], object: u64, index: u64) -> Option<u32> {
        // Relaxed: a guess, which the page's own identity confirms.
        let number = self.slot(object, index).load(Ordering::Relaxed).checked_sub(1)?;
        let page = &pages[number as usize];
        if !page.try_soft_busy() {
            return None;
        }
        if page.is(object, index) {
            return Some(number);
        }
        page.end_soft_busy();
        None
    }

    /// Remembers a page.
    pub(super) fn put(&self, object: u64, index: u64, page: u32) {
        // Relaxed: as above.
        let slot = self.slot(object, index);
        if slot.load(Ordering::Relaxed) != page + 1 {
            slot.store(page + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_as_long_as_it_is_that_page() {
        let pages = [Page::default(), Page::default()];
        let hash = Hash::new(2);
        assert_eq!(hash.get(&pages, 64, 5), None);
        pages[1].set(64, 5);
        hash.put(64, 5, 1);
        assert_eq!(hash.get(&pages, 64, 5), Some(1));
        assert_eq!(hash.get(&pages, 64, 5), Some(1), "soft-busy twice");
        assert_eq!(hash.get(&pages, 64, 5 + 4), None, "another page of the same slot");
        (0..2).for_each(|_| pages[1].end_soft_busy());
        pages[1].set(0, 0);
        assert_eq!(hash.get(&pages, 64, 5), None);
        assert_eq!(pages[1].busy.load(Ordering::Relaxed), 0);
    }
}
