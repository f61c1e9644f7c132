//! Advice: what a program will need is read before it asks; what it gives up is taken when frames are short.

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

/// What is to be read for a page.
enum Missing {
    /// Nothing.
    Nothing,
    /// This.
    Read(PageIn),
    /// Perhaps this page of an object.
    Of(Counted<Object>, u64),
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Begins to read what is not there of a range, from pagers and the swap area, in clusters; and does not wait. There may be holes in the
    /// range. Stops without an error when there are no frames, and passes over what another CPU is changing.
    pub fn will_need(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        self.count(Event::WillNeed);
        for page in range.begin()..range.end() {
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

    /// Gives the contents of private memory of zeroes up: from now until a page is written to, it may become zeroes at any time. The page daemon
    /// takes such pages without writing them. Private copies and pages of objects keep their contents; locked pages do
    /// until they are unlocked. There may be holes in the range.
    pub fn give_up(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::GiveUp);
        let mut batch = Batch::new(self, space);
        lock.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            if slot.mapping().is_null() {
                slot.set(View::Mapped(self.given_up(begin, mapped, range.end(), &mut batch)));
            }
        });
        // Nobody writes from here on, unless a fault says so in the slot.
        batch.finish();
        Ok(())
    }

    fn given_up(&self, page: u64, mapped: Mapped, end: u64, batch: &mut Batch<'_, 'm, M, F>) -> Mapped {
        match mapped.content {
            Content::Page(held) => {
                if mapped.is_entered() {
                    batch.protect(page, mapped, mapped.rights.without(Rights::WRITE), end);
                }
                // It is the first that the page daemon takes.
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

    /// What is missing at a page, whose slot is locked.
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
                // SAFETY: the slot is locked, and an owner of the mapping; the reference does not end it.
                let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(slot.mapping()) });
                let VirtualPage(page) = VirtualPage(page);
                Ok(Missing::Of(mapping.get().object.another(), page.wrapping_add(mapping.get().shift)))
            }
            _ => Ok(Missing::Nothing),
        }
    }

    /// A read of an object's page, if it must be read.
    fn sought(&self, object: &Counted<Object>, index: u64) -> Result<Sought, FaultError> {
        match (object.get().look(index), object.get().backing()) {
            (Leaf::Swapped(_), _) | (Leaf::Nothing, Backing::Pager(_)) => self.object_page(object, index),
            _ => Ok(Sought::Again),
        }
    }
}
