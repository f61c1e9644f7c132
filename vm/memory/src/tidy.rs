//! Locked ranges of calls, and empty nodes after them.
//!
//! A range whose slots all became holes gives back the nodes that lie in it at once
//! (`Batch::retire`). Nodes at its ends may have become empty too, as may those that a call has
//! made to lock holes. They are taken out when their place is forgotten (see `leftovers`), or
//! before a fork: without a lock, since other ranges have to be locked for it.

use crate::address::{PageRange, VirtualPage};
use crate::batch::Batch;
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::space::{RangeLock, SpaceBody};
use crate::tree::{LEAF_PAGES, MOST_LEVELS};

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Locks a range like `lock`, for a caller that has no other lock.
    pub(crate) fn lock_alone<'a>(
        &self,
        space: &'a SpaceBody<'m, M>,
        range: PageRange,
    ) -> Result<RangeLock<'a>, NoMemory> {
        // Nodes that were made before memory ran out may be empty.
        self.lock(space, range).inspect_err(|_| self.tidy(space, range))
    }

    /// Unlocks a range. The caller has no other lock, and no guard of `pin`.
    pub(crate) fn unlock(&self, space: &SpaceBody<'m, M>, lock: RangeLock<'_>) {
        let (range, has_holes) = (lock.range(), lock.has_holes());
        drop(lock);
        if has_holes {
            self.tidy(space, range);
        }
    }

    /// For a range with holes at its ends: remembers the ends, and takes out the empty nodes of
    /// places that are forgotten for it. The caller has no lock, and no guard of `pin`.
    pub(crate) fn tidy(&self, space: &SpaceBody<'m, M>, range: PageRange) {
        let Some(left) = space.leftovers(self.number) else { return };
        let (first, last) = (range.begin() / LEAF_PAGES, (range.end() - 1) / LEAF_PAGES);
        for leaf in [Some(first), (last != first).then_some(last)].into_iter().flatten() {
            if let Some(forgotten) = left.remember(leaf) {
                self.take_empty(space, forgotten);
            }
        }
    }

    /// Takes out the empty nodes of all places. The caller has no lock, and no guard of `pin`.
    pub(crate) fn tidy_all(&self, space: &SpaceBody<'m, M>) {
        while let Some(leaf) = space.leftovers(self.number).and_then(|left| left.forget()) {
            self.take_empty(space, leaf);
        }
    }

    /// Takes out the empty nodes on the way to a leaf: from the lowest up, a node at a time.
    #[cold]
    pub(crate) fn take_empty(&self, space: &SpaceBody<'m, M>, leaf: u64) {
        for _ in 0..MOST_LEVELS {
            // SAFETY: the guard is held, and the space is active.
            let empty = self.pinned(|| unsafe { space.tree.empty_node(VirtualPage(leaf * LEAF_PAGES)) });
            let Some(range) = empty else { return };
            // Makes no node, unless another CPU has just taken this one out.
            let Ok(lock) = self.lock(space, range) else { return };
            if !lock.is_empty() {
                return;
            }
            let mut batch = Batch::new(self, space);
            batch.retire(range);
            drop(lock);
            batch.finish();
        }
    }
}
