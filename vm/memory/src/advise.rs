//! Advice: prefetching of pages that a program will need, and lazy freeing of pages it gives up.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::batch::Batch;
use crate::counted::Counted;
use crate::counters::Event;
use crate::error::{FaultError, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::pager::CLUSTER;
use crate::object::{Backing, Leaf, Object};
use crate::page_in::{PageIn, Sought};
use crate::page_record::Home;
use crate::page_word::{PageStep, Queue};
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::mem::ManuallyDrop;

/// Read needed for a page.
enum Missing {
    Nothing,
    Read(PageIn),
    /// Possibly this page of an object.
    Of(Counted<Object>, u64),
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Starts reading missing pages of a range from pagers and the swap area, in clusters, without
    /// waiting. The range may have holes. Stops without an error when frames run out; skips pages
    /// that another CPU is changing.
    pub fn will_need(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        space.check(range)?;
        self.count(Event::WillNeed);
        for (page, step) in (range.begin()..range.end()).zip(0_u64..) {
            self.pause_each(step);
            let most = CLUSTER.min((range.end() - page) as usize);
            // SAFETY: the guard is held, and the space is active.
            let slot = self.pinned(|| unsafe { space.tree.try_lock_covering(page) });
            let Some(slot) = slot else { continue };
            let missing = self.missing(space, slot, page);
            slot.unlock();
            // No slot is locked from here on.
            let (sought, object) = match missing {
                Ok(Missing::Nothing) => continue,
                Ok(Missing::Read(page_in)) => (Ok(Sought::Begin(page_in)), None),
                Ok(Missing::Of(object, index)) => (self.sought(&object, index), Some(object)),
                Err(error) => (Err(error), None),
            };
            object.into_iter().for_each(|object| self.release_object(object));
            match sought {
                Ok(Sought::Begin(page_in)) => drop(self.begin(space, page_in, most)),
                Err(FaultError::NoMemory) => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives up the contents of private zero-fill memory: until a page is next written, it may
    /// become zeroes at any time. The page daemon takes such pages without writing them. Private
    /// copies and object pages keep their contents, as do locked pages until they are unlocked. The
    /// range may have holes.
    pub fn give_up(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.in_pieces(space, range, |space, lock| {
            self.count_first(lock, range, Event::GiveUp);
            let mut batch = Batch::new(self, space);
            lock.each(|slot, begin, _| {
                let View::Mapped(mapped) = slot.load().view() else { return };
                if slot.mapping().is_null() {
                    slot.set(View::Mapped(self.given_up(begin, mapped, lock.range().end(), &mut batch)));
                }
            });
            // From here on only a fault enables writes, and it records that in the slot.
            batch.finish();
            Ok(())
        })
    }

    fn given_up(&self, page: u64, mapped: Mapped, end: u64, batch: &mut Batch<'_, 'm, M, F>) -> Mapped {
        match mapped.content {
            Content::Page(held) => {
                if mapped.is_entered() {
                    batch.protect(page, mapped, mapped.rights.without(Rights::WRITE), end);
                }
                // The page daemon takes this page first.
                let _ = self.word(held).step(PageStep::Move(Queue::Inactive));
                Mapped { marks: mapped.marks.with(Marks::GIVEN_UP), ..mapped }
            }
            Content::Swapped(swapped) => {
                self.release_swap(swapped);
                mapped.emptied()
            }
            Content::Nothing | Content::Kept(_) => mapped,
        }
    }

    /// The read needed for a page, whose slot is locked.
    fn missing(&self, space: &SpaceBody<'m, M>, slot: &Slot, page: u64) -> Result<Missing, FaultError> {
        let View::Mapped(mapped) = slot.load().view() else { return Ok(Missing::Nothing) };
        if mapped.marks.has(Marks::GUARD) || mapped.rights == Rights::NONE {
            return Ok(Missing::Nothing);
        }
        match mapped.content {
            Content::Swapped(swapped) => {
                let home = Home::Family(space.family.as_ptr());
                let (new, page_in) = self.page_from_swap(home, page, swapped)?;
                slot.set(View::Mapped(Mapped { content: Content::Page(new), ..mapped }));
                Ok(Missing::Read(page_in))
            }
            Content::Nothing if !slot.mapping().is_null() => {
                // SAFETY: the slot is locked, and an owner of the mapping; the reference does not
                // release it.
                let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(slot.mapping()) });
                let VirtualPage(page) = VirtualPage(page);
                Ok(Missing::Of(mapping.get().object.another(), page.wrapping_add(mapping.get().shift)))
            }
            _ => Ok(Missing::Nothing),
        }
    }

    /// The read of an object's page, if it needs one.
    fn sought(&self, object: &Counted<Object>, index: u64) -> Result<Sought, FaultError> {
        match (object.get().look(index), object.get().backing()) {
            (Leaf::Swapped(_), _) | (Leaf::Nothing, Backing::Pager(_)) => self.object_page(object, index),
            _ => Ok(Sought::Again),
        }
    }
}
