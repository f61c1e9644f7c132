//! Pages, objects and mappings.
//!
//! An object has resident pages and may shadow another object. A page missing from an object is
//! looked up in the shadowed one, and so on along the chain, as in Mach. Each mapping of a page has
//! an entry in the page's list and in the space's tree: BSD's pv entry. A page daemon would find
//! all mappings through it; here only its removal reads it.
//!
//! Fields: \[I] immutable; \[w] protected by the token; \[a] one atomic word.

use lock_api::{GuardSend, RawRwLock, RwLock};
use spin::Mutex;
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// An object. Its count of references is its `Arc`'s.
#[repr(align(64))]
pub struct Object {
    /// \[w]
    pub(super) inner: ByToken<Inner>,
}

/// Data of an object.
pub(super) struct Inner {
    /// Resident pages, by their index: for private memory that of the virtual page, so that shadows
    /// need no offsets.
    pub(super) pages: BTreeMap<u64, u32>,
    /// The object that this one shadows.
    pub(super) shadowed: Option<Arc<Object>>,
    /// True if only one map has it, each page once: then an unmapped page can be freed.
    pub(super) is_of_one_map: bool,
}

/// True if the caller's reference is the only one. The caller's token keeps others from being
/// added.
pub(super) fn is_sole<T>(reference: &Arc<T>) -> bool {
    let is_sole = Arc::strong_count(reference) == 1;
    // Acquire: pairs with the release when the other references ended.
    fence(Ordering::Acquire);
    is_sole
}

impl Object {
    /// An object without pages.
    pub(super) fn new(shadowed: Option<Arc<Object>>, is_of_one_map: bool) -> Arc<Self> {
        let inner = Inner { pages: BTreeMap::new(), shadowed, is_of_one_map };
        Arc::new(Object { inner: by_token(inner) })
    }

    /// Ends a reference. The pages of ending objects go to `free`.
    pub(super) fn release(object: Arc<Self>, mut free: impl FnMut(u32)) {
        let mut next = Some(object);
        while let Some(object) = next.and_then(Arc::into_inner) {
            let inner = object.inner.into_inner();
            inner.pages.into_values().for_each(&mut free);
            next = inner.shadowed;
        }
    }
}

impl Inner {
    /// Calls `then` with a page of the object or of one that it shadows, if any. A chain is as long
    /// as the sequence of forks.
    pub(super) fn find(&self, index: u64, then: &mut dyn FnMut(Option<u32>)) {
        match (self.pages.get(&index), &self.shadowed) {
            (Some(page), _) => then(Some(*page)),
            (None, Some(shadowed)) => shadowed.inner.read().find(index, then),
            (None, None) => then(None),
        }
    }

    /// Takes the pages of a range out.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> Vec<u32> {
        let indices: Vec<u64> = self.pages.range(begin..end).map(|(index, _)| *index).collect();
        indices.iter().filter_map(|index| self.pages.remove(index)).collect()
    }

    /// Merges shadowed objects that have no other reference. Hidden pages go to `free`.
    pub(super) fn collapse(&mut self, mut free: impl FnMut(u32)) {
        while let Some(shadowed) = self.shadowed.take() {
            if !is_sole(&shadowed) {
                self.shadowed = Some(shadowed);
                return;
            }
            let Some(object) = Arc::into_inner(shadowed) else { return };
            let inner = object.inner.into_inner();
            for (index, page) in inner.pages {
                match self.pages.entry(index) {
                    std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(page)),
                    std::collections::btree_map::Entry::Occupied(_) => free(page),
                }
            }
            self.shadowed = inner.shadowed;
        }
    }
}

const BUSY: u32 = 1;
const REFERENCED: u32 = 2;

/// A page, on lines of its own.
#[repr(align(64))]
pub(super) struct Page {
    /// \[a]
    state: AtomicU32,
    /// \[w]
    list: ByToken<List>,
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
    /// \[I] Space and virtual page.
    #[expect(dead_code, reason = "a page daemon would read it")]
    at: (u64, u64),
    /// \[w]
    next: *mut Pv,
    /// \[w]
    before: *mut Pv,
}

/// The space's reference to a mapping: [`Page::unlink`] ends it.
pub(super) struct Mapping(*mut Pv);

// SAFETY: only its single owner frees the entry.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives only the page's number, which does not change.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The mapped page.
    pub(super) fn page(&self) -> u32 {
        // SAFETY: it lives as long as this; the field never changes.
        unsafe { (*self.0).page }
    }
}

impl Page {
    pub(super) fn new() -> Self {
        Page { state: AtomicU32::new(0), list: by_token(List { first: ptr::null_mut() }) }
    }

    /// Makes the page busy and referenced; waits until it is not busy.
    pub(super) fn make_busy(&self) {
        loop {
            // Relaxed: a guess. Waiting CPUs only read, so that they share the line.
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

    pub(super) fn end_busy(&self) {
        // Release: pairs with the acquire in `make_busy`.
        self.state.fetch_and(!BUSY, Ordering::Release);
    }

    /// Resets a page that is freed.
    pub(super) fn reset(&self) {
        debug_assert!(self.list.read().first.is_null(), "a page that is mapped is freed");
        // Relaxed: the page has no other user; its next owner gets it from the frame allocator.
        self.state.store(0, Ordering::Relaxed);
    }

    /// Adds a mapping of this page, whose number is `page`.
    pub(super) fn link(&self, page: u32, space: u64, at: u64) -> Mapping {
        let pv = Box::into_raw(Box::new(Pv { page, at: (space, at), next: ptr::null_mut(), before: ptr::null_mut() }));
        let mut list = self.list.write();
        // SAFETY: 1. The new entry is ours. 2. The first one is in the list, so it is alive, and
        // its links are ours by the token.
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
        // SAFETY: 1. The entry was made by `link`, and is ended once. 2. Its neighbours are in its
        // list, so they are alive, and their links are ours by the token.
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

    /// Number of mappings of the page.
    #[cfg(test)]
    fn mappings(&self) -> usize {
        let list = self.list.read();
        let mut next = list.first;
        let mut count = 0;
        while !next.is_null() {
            count += 1;
            // SAFETY: in the list, which no other thread changes.
            next = unsafe { (*next).next };
        }
        count
    }
}

/// The spin lock held through each call, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Token(pub(super) Mutex<()>);

/// Data that only the holder of the token uses.
pub(super) type ByToken<T> = RwLock<NoLock, T>;

/// Puts data under the token.
pub(super) fn by_token<T>(data: T) -> ByToken<T> {
    RwLock::new(data)
}

/// A lock that always succeeds: the caller holds the token.
pub(super) struct NoLock;

// SAFETY: 1. All data with this lock is reached only by calls that hold the token, so from one
// thread at a time. 2. Within a call nothing is locked again while it is locked.
unsafe impl RawRwLock for NoLock {
    const INIT: Self = NoLock;
    type GuardMarker = GuardSend;

    fn lock_shared(&self) {}

    fn try_lock_shared(&self) -> bool {
        true
    }

    unsafe fn unlock_shared(&self) {}

    fn lock_exclusive(&self) {}

    fn try_lock_exclusive(&self) -> bool {
        true
    }

    unsafe fn unlock_exclusive(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_end_in_any_order() {
        let page = Page::new();
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
