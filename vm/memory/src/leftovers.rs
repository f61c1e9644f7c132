//! A CPU's leftovers in a space: places where it has left holes, and nodes that it took out of the
//! tree, which wait for a shoot-down.
//!
//! Nodes that become empty by small steps are found through the places: a CPU remembers a few of
//! them, and takes out the empty nodes of the oldest when it leaves another (see `tidy`). So a
//! program that maps and unmaps in the same places keeps its nodes, and one that does so in ever
//! new places keeps few. Taking a node out asks no CPU: nodes wait until there are many, or all
//! CPUs are asked anyway (see `batch`). So freeing nodes costs a shoot-down for many of them.
//!
//! Fields: \[c] written and read by the CPU alone, or by the only owner of an ending space, so all
//! orderings are relaxed.

use crate::tree::{Node, RetiredNodes};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64};

/// Number of places that a CPU remembers in a space.
#[cfg(not(all(loom, test)))]
const PLACES: usize = 4;
/// Small, so that tests take nodes out.
#[cfg(all(loom, test))]
const PLACES: usize = 1;

/// Maximum number of nodes that a CPU keeps in a space: 64 KiB.
#[cfg(not(all(loom, test)))]
const MOST_KEPT: u32 = 64;
/// Small, so that tests free nodes.
#[cfg(all(loom, test))]
const MOST_KEPT: u32 = 1;

/// A CPU's leftovers in a space: on the line of its membership.
#[derive(Debug)]
pub(crate) struct Leftovers {
    /// \[c] Index of the oldest place.
    oldest: AtomicU8,
    /// \[c] Number of kept nodes.
    count: AtomicU32,
    /// \[c] First kept node, or null.
    kept: AtomicPtr<Node>,
    /// \[c] Numbers of leaves plus 1; 0: none.
    places: [AtomicU64; PLACES],
}

impl Default for Leftovers {
    fn default() -> Self {
        Self {
            oldest: AtomicU8::new(0),
            count: AtomicU32::new(0),
            kept: AtomicPtr::new(ptr::null_mut()),
            places: [const { AtomicU64::new(0) }; PLACES],
        }
    }
}

impl Leftovers {
    /// Remembers a leaf with holes. Returns the leaf that was forgotten for it.
    pub(crate) fn remember(&self, leaf: u64) -> Option<u64> {
        if self.places.iter().any(|place| place.load(Relaxed) == leaf + 1) {
            return None;
        }
        let oldest = usize::from(self.oldest.load(Relaxed));
        self.oldest.store(((oldest + 1) % PLACES) as u8, Relaxed);
        let forgotten = self.places.get(oldest).map_or(0, |place| {
            let forgotten = place.load(Relaxed);
            place.store(leaf + 1, Relaxed);
            forgotten
        });
        forgotten.checked_sub(1)
    }

    /// Forgets a leaf, and returns it. `None` if no leaf is remembered.
    pub(crate) fn forget(&self) -> Option<u64> {
        let place = self.places.iter().find(|place| place.load(Relaxed) != 0)?;
        let leaf = place.load(Relaxed).checked_sub(1);
        place.store(0, Relaxed);
        leaf
    }

    /// Keeps nodes that were taken out, or returns them and all kept ones if they are too many.
    #[must_use]
    pub(crate) fn keep(&self, nodes: RetiredNodes) -> RetiredNodes {
        let all = self.take().followed_by(nodes);
        if all.count() > MOST_KEPT {
            return all;
        }
        self.count.store(all.count(), Relaxed);
        self.kept.store(all.into_raw(), Relaxed);
        RetiredNodes::none()
    }

    /// All kept nodes.
    #[must_use]
    pub(crate) fn take(&self) -> RetiredNodes {
        let first = self.kept.load(Relaxed);
        self.kept.store(ptr::null_mut(), Relaxed);
        let count = self.count.load(Relaxed);
        self.count.store(0, Relaxed);
        // SAFETY: 1. Null, or from `into_raw` in `keep`, which stored the count with it. 2. The
        // list is here no longer.
        unsafe { RetiredNodes::from_raw(first, count) }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        // SAFETY: the space ends, so no CPU walks its tree.
        unsafe { self.take().free() };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_place_is_forgotten_first() {
        let left = Leftovers::default();
        let forgotten = [7, 0, 7, 8, 9, 0, 10, 11].map(|leaf| left.remember(leaf));
        assert_eq!(forgotten, [None, None, None, None, None, None, Some(7), Some(0)]);
        let mut rest: std::vec::Vec<_> = core::iter::from_fn(|| left.forget()).collect();
        rest.sort_unstable();
        assert_eq!(rest, [8, 9, 10, 11]);
    }
}
