//! Stacks: mappings that faults below them extend downwards, up to the space's limit, and no nearer
//! than a gap to the next mapping below.
//!
//! Nothing is reserved: space a stack has not grown into can be mapped, and then stops the stack.
//! Growth locks the pages that it maps, the gap below them and the lowest page of the stack. So of
//! two threads that fault below a stack one maps for both, and of a growth and a mapping in its way
//! one finds the other.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::counters::Event;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::primitive::relax;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::tree::slot::{Mapped, Marks, View};
use crate::tree::{Kind, Run, is_stack};
use core::sync::atomic::Ordering::Relaxed;

/// Number of pages below a stack that growth and address choice leave free.
#[cfg(not(all(loom, test)))]
pub const STACK_GAP: u64 = 256;
/// Small, like the space.
#[cfg(all(loom, test))]
pub const STACK_GAP: u64 = 1;

/// State of the pages below a stack.
enum Below {
    /// Room to grow.
    Room,
    /// Another mapping is too near.
    Blocked,
    /// Another CPU has just changed something.
    Changed,
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Like [`map`](Self::map), as a stack: a fault below it maps private zero-fill memory down to
    /// the faulting page, with the rights of its lowest page. The fault is refused if the stack
    /// would exceed the space's limit, or end less than [`STACK_GAP`] pages above another mapping.
    pub fn map_stack(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        self.map_as(space, range, Mapped { marks: Marks::GROWS, ..Mapped::untouched(rights) }, None)
    }

    /// Sets the stack limit of a space in pages; the default is 2048. Children inherit it.
    pub fn set_stack_limit(&self, space: &Space<'m, M>, pages: u64) {
        // Relaxed: no other data depends on it.
        space.body().stack_limit.store(pages, Relaxed);
    }

    /// For a fault at an unmapped page: extends the stack above it. True if the fault should be
    /// retried.
    #[cold]
    pub(crate) fn grow_stack(&self, space: &SpaceBody<'m, M>, page: VirtualPage) -> Result<bool, NoMemory> {
        let VirtualPage(page) = page;
        loop {
            let Some(bottom) = self.bottom_above(space, page) else { return Ok(false) };
            if bottom <= page {
                // Another CPU has mapped it.
                return Ok(true);
            }
            match self.grow_to(space, page, bottom)? {
                Below::Room => return Ok(true),
                Below::Blocked => return Ok(false),
                Below::Changed => relax(),
            }
        }
    }

    /// The lowest page of the stack above a page, if it may grow that far.
    fn bottom_above(&self, space: &SpaceBody<'m, M>, page: u64) -> Option<u64> {
        let limit = page.saturating_add(space.stack_limit.load(Relaxed)).min(space.pages.end());
        let (mut end, mut bottom) = (page, None);
        while end <= limit && end < space.pages.end() {
            let run @ Run { kind, .. } = self.run(space, end);
            match kind {
                Kind::Free | Kind::Changing if bottom.is_none() => {}
                Kind::Taken if bottom.is_none() => return (end == page).then_some(page),
                Kind::Free | Kind::Changing | Kind::Taken => return bottom,
                Kind::Stack => drop(bottom.get_or_insert(end)),
            }
            end = run.end;
        }
        bottom.filter(|_| end <= limit)
    }

    /// Maps everything from `page` to the stack that begins at `bottom`.
    fn grow_to(&self, space: &SpaceBody<'m, M>, page: u64, bottom: u64) -> Result<Below, NoMemory> {
        let begin = page.saturating_sub(STACK_GAP).max(space.pages.begin());
        let Ok(range) = PageRange::new(VirtualPage(begin), bottom + 1 - begin) else { return Ok(Below::Blocked) };
        let lock = self.lock_alone(space, range)?;
        let grown = self.grow_locked(&lock, page, bottom);
        self.unlock(space, lock);
        grown
    }

    /// Like `grow_to`, in a locked range from the gap to the lowest page of the stack.
    fn grow_locked(&self, lock: &RangeLock<'_>, page: u64, bottom: u64) -> Result<Below, NoMemory> {
        let mut grown = Mapped::untouched(Rights::NONE);
        let found = lock.visit(|slot, begin, _| match slot.load().view() {
            View::Mapped(mapped) if begin == bottom && is_stack(mapped) => {
                grown = Mapped {
                    marks: mapped.marks.only(Marks::GROWS.with(Marks::LOCKED)),
                    ..Mapped::untouched(mapped.rights)
                };
                Ok(())
            }
            View::Mapped(_) if begin < page => Err(Below::Blocked),
            View::Hole if begin < bottom => Ok(()),
            _ => Err(Below::Changed),
        });
        if let Err(below) = found {
            return Ok(below);
        }
        lock.split_at(page)?;
        lock.each(|slot, begin, _| {
            if (page..bottom).contains(&begin) {
                slot.set(View::Mapped(grown));
            }
        });
        self.count(Event::Grow);
        Ok(Below::Room)
    }
}
