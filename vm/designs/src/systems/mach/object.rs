//! Objects: their resident pages, and the object that they shadow. A page that is not in an object is looked for in the one that it shadows, and
//! so on: a chain, as in Mach.
//!
//! Fields: \[o] the object's lock.

use super::locks::Locks;
use lock_api::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// An object. Its count of references is its `Arc`'s.
#[repr(align(64))]
pub struct Object<L: Locks> {
    /// \[o]
    pub(super) inner: RwLock<L::Object, Inner<L>>,
}

/// What an object's lock protects.
pub(super) struct Inner<L: Locks> {
    /// Resident pages, by their index: for private memory that of the virtual page, so that shadows need no offsets.
    pub(super) pages: BTreeMap<u64, u32>,
    /// The object that this one shadows.
    pub(super) shadowed: Option<Arc<Object<L>>>,
    /// Whether only one map has it, each page once: then a page that is unmapped can be freed.
    pub(super) is_of_one_map: bool,
}

/// Whether the caller's reference is the only one. The caller has the lock of what holds the reference, so none can be added.
pub(super) fn is_sole<T>(reference: &Arc<T>) -> bool {
    let is_sole = Arc::strong_count(reference) == 1;
    // Acquire: pairs with the release when the other references ended.
    fence(Ordering::Acquire);
    is_sole
}

impl<L: Locks> Object<L> {
    /// An object without pages.
    pub(super) fn new(shadowed: Option<Arc<Object<L>>>, is_of_one_map: bool) -> Arc<Self> {
        let inner = Inner { pages: BTreeMap::new(), shadowed, is_of_one_map };
        Arc::new(Object { inner: RwLock::new(inner) })
    }

    /// Ends a reference. The pages of an object that ends, and of those that end with it, go to `free`.
    pub(super) fn release(object: Arc<Self>, mut free: impl FnMut(u32)) {
        let mut next = Some(object);
        while let Some(object) = next.and_then(Arc::into_inner) {
            let inner = object.inner.into_inner();
            inner.pages.into_values().for_each(&mut free);
            next = inner.shadowed;
        }
    }
}

impl<L: Locks> Inner<L> {
    /// Finds a page in the object or in one that it shadows, and calls `then` while all on the way are locked: the recursion keeps them so. A
    /// chain is as long as forks follow each other.
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

    /// Merges shadowed objects that nobody else has any more. Pages that are hidden go to `free`.
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
