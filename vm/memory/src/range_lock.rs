//! The lock of a range: all slots that cover it.

use crate::address::PageRange;
use crate::counters::Event;
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::primitive::relax;
use crate::space::SpaceBody;
use crate::tree::slot::{Slot, View};
use crate::tree::{LockStep, Tree};

/// A locked range. Dropping it unlocks what is left of it.
pub(crate) struct RangeLock<'a> {
    tree: &'a Tree,
    range: PageRange,
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Locks a range of a space that is active here. The caller holds no lock but of ranges
    /// at lower addresses, and no guard of `pin`. Fails if there is no
    /// memory for a node.
    pub(crate) fn lock<'a>(&self, space: &'a SpaceBody<'m, M>, range: PageRange) -> Result<RangeLock<'a>, NoMemory> {
        let mut next = range.begin();
        while next < range.end() {
            let pinned = self.pin();
            // SAFETY: the guard is held, and the space is active.
            let step = unsafe { space.tree.lock_next(next, range.end(), &mut || self.count(Event::Split)) };
            let locked = step.map(|step| match step {
                // SAFETY: 1. The slot of the page before `end` is locked, by the step above. 2. It is of one page, so in a leaf. 3. The guard is held.
                LockStep::Locked(_, end) if end == next + 1 => unsafe {
                    Some(space.tree.lock_behind(end, range.end()))
                },
                LockStep::Locked(_, end) => Some(end),
                LockStep::Taken => None,
            });
            // Whoever has the slot may wait for this CPU to answer a shoot-down.
            drop(pinned);
            match locked {
                Ok(Some(end)) => next = end,
                Ok(None) => {
                    self.count(Event::Wait);
                    relax();
                }
                Err(error) => {
                    drop(range.before(next).map(|range| RangeLock { tree: &space.tree, range }));
                    return Err(error);
                }
            }
        }
        Ok(RangeLock { tree: &space.tree, range })
    }
}

impl RangeLock<'_> {
    /// The range.
    pub(crate) fn range(&self) -> PageRange {
        self.range
    }

    /// Divides slots so that one begins at a page of the range.
    pub(crate) fn split_at(&self, page: u64) -> Result<(), NoMemory> {
        // SAFETY: the range is locked.
        unsafe { self.tree.split_locked(page) }
    }

    /// Divides all slots of the range down to the leaves.
    pub(crate) fn split_to_leaves(&self) -> Result<(), NoMemory> {
        // SAFETY: the range is locked.
        unsafe { self.tree.split_to_leaves(self.range) }
    }

    /// Whether nothing is mapped in the range.
    pub(crate) fn is_empty(&self) -> bool {
        self.visit(|slot, _, _| if slot.load().view() == View::Hole { Ok(()) } else { Err(()) }).is_ok()
    }

    /// Calls `act` with each slot, its first page, and its number of pages, until `act` fails.
    pub(crate) fn visit<E>(&self, mut act: impl FnMut(&Slot, u64, u64) -> Result<(), E>) -> Result<(), E> {
        // SAFETY: the range is locked, and `act` has no way to unlock all of it: only this type does, when it is dropped.
        unsafe { self.tree.visit(self.range, &mut act) }
    }

    /// As `visit`, with what does not fail.
    pub(crate) fn each(&self, mut act: impl FnMut(&Slot, u64, u64)) {
        let Ok(()) = self.visit(|slot, begin, pages| -> Result<(), core::convert::Infallible> {
            act(slot, begin, pages);
            Ok(())
        });
    }
}

impl Drop for RangeLock<'_> {
    fn drop(&mut self) {
        self.each(|slot, _, _| slot.unlock());
    }
}
