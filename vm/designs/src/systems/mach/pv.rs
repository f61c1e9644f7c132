//! Pages, and an entry for each mapping of one: in a list of the page, and in a tree of the space. BSD calls it a pv entry. A page daemon
//! would find through it all places where a page is mapped; here nothing but its removal reads it.
//!
//! Fields: \[I] immutable; \[a] one atomic word by itself; \[m] the lock of the space's mappings; \[p] the lock of the page's list.

use super::locks::Locks;
use lock_api::RwLock;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const BUSY: u32 = 1;
const REFERENCED: u32 = 2;

/// A page, on lines of its own.
#[repr(align(64))]
pub(super) struct Page<L: Locks> {
    /// \[a]
    state: AtomicU32,
    /// \[p]
    list: RwLock<L::Small, List>,
}

/// The mappings of a page.
struct List {
    first: *mut Pv,
}

// SAFETY: the entries belong to the lists' owners; see `Pv`.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

/// A mapping of a page.
struct Pv {
    /// \[I]
    page: u32,
    /// \[I] Which page of which space.
    #[expect(dead_code, reason = "a page daemon would read it")]
    at: (u64, u64),
    /// \[p]
    next: *mut Pv,
    /// \[p]
    before: *mut Pv,
}

/// The space's hold on a mapping, by which the mapping ends: see [`Page::unlink`].
pub(super) struct Mapping(*mut Pv);

// SAFETY: the entry is freed by whoever has this, which is one.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives the page's number only, which does not change.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The page that is mapped.
    pub(super) fn page(&self) -> u32 {
        // SAFETY: it lives as long as this; the field never changes.
        unsafe { (*self.0).page }
    }
}

impl<L: Locks> Page<L> {
    pub(super) fn new() -> Self {
        Page { state: AtomicU32::new(0), list: RwLock::new(List { first: ptr::null_mut() }) }
    }

    /// Makes the page busy, and referenced, when nobody else has it busy.
    pub(super) fn make_busy(&self) {
        loop {
            // Relaxed: a guess. Who waits only reads, so that the line stays with all that wait.
            let state = self.state.load(Ordering::Relaxed);
            let busy = state | BUSY | REFERENCED;
            // Acquire: pairs with the release in `end_busy`.
            let take = || self.state.compare_exchange(state, busy, Ordering::Acquire, Ordering::Relaxed);
            if state & BUSY == 0 && take().is_ok() {
                return;
            }
            spin_loop();
        }
    }

    /// Ends that.
    pub(super) fn end_busy(&self) {
        // Release: pairs with the acquire in `make_busy`.
        self.state.fetch_and(!BUSY, Ordering::Release);
    }

    /// For a page that is freed.
    pub(super) fn reset(&self) {
        debug_assert!(self.list.read().first.is_null(), "a page that is mapped is freed");
        // Relaxed: nobody else has the page; its next owner gets it from the frames' allocator.
        self.state.store(0, Ordering::Relaxed);
    }

    /// Adds a mapping of this page, whose number is `page`.
    pub(super) fn link(&self, page: u32, space: u64, at: u64) -> Mapping {
        let pv = Box::into_raw(Box::new(Pv { page, at: (space, at), next: ptr::null_mut(), before: ptr::null_mut() }));
        let mut list = self.list.write();
        // SAFETY: 1. The new entry is ours. 2. The first one is in the list, so it is there, and its links are ours by the lock.
        unsafe {
            (*pv).next = list.first;
            if !list.first.is_null() {
                (*list.first).before = pv;
            }
        }
        list.first = pv;
        Mapping(pv)
    }

    /// Ends a mapping of this page.
    pub(super) fn unlink(&self, mapping: Mapping) {
        let mut list = self.list.write();
        // SAFETY: 1. The entry was made by `link`, and nobody else ends it. 2. Its neighbours are in the same list, so they are there, and their
        // links are ours by the lock.
        unsafe {
            let pv = Box::from_raw(mapping.0);
            if pv.before.is_null() {
                list.first = pv.next;
            } else {
                (*pv.before).next = pv.next;
            }
            if !pv.next.is_null() {
                (*pv.next).before = pv.before;
            }
        }
    }

    /// How often the page is mapped.
    #[cfg(test)]
    fn mappings(&self) -> usize {
        let list = self.list.read();
        let mut next = list.first;
        let mut count = 0;
        while !next.is_null() {
            count += 1;
            // SAFETY: in the list, and the list is locked.
            next = unsafe { (*next).next };
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared_retry::Retry;
    use super::*;

    #[test]
    fn mappings_end_in_any_order() {
        let page = Page::<Retry>::new();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut mappings = [0, 1, 2].map(|at| Some(page.link(7, 1, at)));
            for (left, place) in (0..3).rev().zip(order) {
                let mapping = mappings[place].take().unwrap();
                assert_eq!(mapping.page(), 7);
                page.unlink(mapping);
                assert_eq!(page.mappings(), left);
            }
        }
    }
}
