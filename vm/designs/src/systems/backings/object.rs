//! Objects, and the lists of map entries that each backs. Objects know nothing of each other: which object is looked up after which is in the
//! entries.
//!
//! Fields: \[o] the object's lock; \[b] the lock of its list of backings.

use spin::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An object. Its count of references is its `Arc`'s, and its address is its number.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Object {
    /// \[o]
    pub(super) inner: RwLock<Inner>,
    /// \[b] The entries that it backs, by space and first page: where its pages may be mapped. That is the reverse map, which a page daemon would
    /// go through.
    backings: Mutex<BTreeMap<(u64, u64), Extent>>,
}

/// What an object's lock protects.
#[derive(Debug)]
pub(super) struct Inner {
    /// Resident pages, by their index: for private memory that of the virtual page.
    pub(super) pages: BTreeMap<u64, u32>,
    /// Whether only one map has it, each page once: then a page that is unmapped can be freed.
    pub(super) is_of_one_map: bool,
}

/// A range of a space that an object backs.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// One past its last page.
    end: u64,
    /// To be added to a virtual page's number for its index in the object.
    #[expect(dead_code, reason = "a page daemon would read it")]
    shift: u64,
}

impl Object {
    pub(super) fn new(is_of_one_map: bool) -> Arc<Self> {
        let inner = Inner { pages: BTreeMap::new(), is_of_one_map };
        Arc::new(Object { inner: RwLock::new(inner), backings: Mutex::new(BTreeMap::new()) })
    }

    /// A number that no other object has. One that ends takes its pages' identities with it, so the address may be used again.
    pub(super) fn number(self: &Arc<Self>) -> u64 {
        Arc::as_ptr(self).addr() as u64
    }

    /// Ends a reference. The pages of an object that ends go to `free`.
    pub(super) fn release(object: Arc<Self>, free: impl FnMut(u32)) {
        let Some(object) = Arc::into_inner(object) else { return };
        debug_assert!(object.backings.lock().is_empty(), "an object that backs an entry ends");
        object.inner.into_inner().pages.into_values().for_each(free);
    }

    /// From now on the object backs an entry.
    pub(super) fn attach(&self, (space, begin): (u64, u64), end: u64, shift: u64) {
        self.backings.lock().insert((space, begin), Extent { end, shift });
    }

    /// It no longer does.
    pub(super) fn detach(&self, at: (u64, u64)) {
        let removed = self.backings.lock().remove(&at);
        debug_assert!(removed.is_some(), "it backed the entry");
    }

    /// The entry is split.
    pub(super) fn split(&self, (space, begin): (u64, u64), at: u64, shift: u64) {
        let mut backings = self.backings.lock();
        if let Some(lower) = backings.get_mut(&(space, begin)) {
            let end = std::mem::replace(&mut lower.end, at);
            backings.insert((space, at), Extent { end, shift });
        }
    }
}

impl Inner {
    /// Takes the pages of a range out.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> Vec<u32> {
        let indices: Vec<u64> = self.pages.range(begin..end).map(|(index, _)| *index).collect();
        indices.iter().filter_map(|index| self.pages.remove(index)).collect()
    }
}
