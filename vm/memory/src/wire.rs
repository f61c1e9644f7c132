//! Pages are locked in memory: wired, so that the page daemon leaves them.
//!
//! A slot that is locked wires its page when it is there, and owns what it has wired: a private page anyway, and an object's page from then on
//! (`Content::Kept`), so neither truncation nor the end of an object frees a page that is wired. A slot wires its page while it is locked
//! itself, and gives the wire up before it gives the page up.
//!
//! Who takes a page away, and had it busy before it was wired, finds the wire: a page is wired in a slot that says it is there, so
//! whoever takes it away has not yet taken the slot's translation, and looks for wires after it has taken all (see `consider_held` and `detach_from_object`).

use crate::address::{PageRange, Rights, VirtualPage};
use crate::change::check_mapped;
use crate::counted::Counted;
use crate::counters::Event;
use crate::error::{FaultError, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::Backing;
use crate::page_word::PageStep;
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::mem::ManuallyDrop;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Locks a range in memory: what is not there is made or read, and the page daemon takes none of it until it is unlocked, unmapped, or
    /// its object is truncated. A write to what is shared still copies it, and the copy is locked. Guards, and what has no rights, are passed over.
    /// Children do not have their parents' locks.
    ///
    /// If it fails with [`SpaceError::NotMapped`], nothing is changed. After other errors the range is locked as far as it is there; what is
    /// not there is locked by the fault that brings it. [`SpaceError::Wait`]: called again, it goes on.
    pub fn lock_pages(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        check_mapped(&lock)?;
        self.count(Event::Lock);
        lock.each(|slot, _, _| {
            if let View::Mapped(mapped) = slot.load().view()
                && !mapped.marks.has(Marks::GUARD)
            {
                slot.set(View::Mapped(Mapped { marks: mapped.marks.with(Marks::LOCKED), ..mapped }));
            }
        });
        drop(lock);
        self.populate(space, range)
    }

    /// Brings what is not there of a locked range.
    pub(crate) fn populate(&self, space: &SpaceBody<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        for page in range.begin()..range.end() {
            // SAFETY: the guard is held, and the space is active.
            let view = self.pinned(|| unsafe { space.tree.look(page) }.word.view());
            let rights = match view {
                View::Mapped(mapped) if !mapped.marks.has(Marks::GUARD) => mapped.rights,
                _ => continue,
            };
            let first = |access| rights.allows(access).then_some(access);
            let access = first(Rights::READ).or_else(|| first(Rights::WRITE)).unwrap_or(rights);
            if access == Rights::NONE {
                continue;
            }
            match self.resolve(space, VirtualPage(page), access) {
                // Another thread has just changed it.
                Ok(()) | Err(FaultError::NotMapped | FaultError::NotAllowed | FaultError::Guarded) => {}
                Err(FaultError::NoMemory) => return Err(self.no_memory(SpaceError::NoMemory)),
                Err(FaultError::NotActive) => return Err(SpaceError::NotActive),
                Err(FaultError::BeyondObject) => return Err(SpaceError::BeyondObject),
                Err(FaultError::Failed) => return Err(SpaceError::NotRead),
                Err(FaultError::Wait(page)) => return Err(SpaceError::Wait(page)),
            }
        }
        Ok(())
    }

    /// Ends that for a range, in which there may be holes.
    pub fn unlock_pages(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::Unlock);
        lock.each(|slot, _, _| {
            if let View::Mapped(mut mapped) = slot.load().view() {
                self.unwire(&mut mapped);
                slot.set(View::Mapped(Mapped { marks: mapped.marks.without(Marks::LOCKED), ..mapped }));
            }
        });
        Ok(())
    }

    /// After a fault at a page of a locked range: wires the page. The slot is locked, and says `now`.
    #[cold]
    pub(crate) fn wire(&self, slot: &Slot, page: VirtualPage, now: &mut Mapped) -> Result<(), FaultError> {
        match now.content {
            Content::Page(page) if !now.marks.has(Marks::WIRED) => {
                self.word(page).step(PageStep::Wire).map_err(|_| FaultError::NoMemory)?;
                now.marks = now.marks.with(Marks::WIRED);
            }
            Content::Nothing if !slot.mapping().is_null() => {
                // SAFETY: the slot is locked, and an owner of the mapping; the reference does not end it.
                let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(slot.mapping()) });
                let object = mapping.get().object.get();
                let index = page.0.wrapping_add(mapping.get().shift);
                let (false, Some(page)) = (matches!(object.backing(), Backing::Device(_)), object.page(index)) else {
                    return Ok(());
                };
                // It stays in its place while the slot is locked from which it was entered.
                self.word(page).step(PageStep::Share).map_err(|_| FaultError::NoMemory)?;
                if self.word(page).step(PageStep::Wire).is_err() {
                    self.release_now(page);
                    return Err(FaultError::NoMemory);
                }
                now.content = Content::Kept(page);
            }
            _ => return Ok(()),
        }
        self.count(Event::Wire);
        Ok(())
    }

    /// Gives up the wire that a locked slot has, before it gives the page up. The page of an object has its object as an owner.
    pub(crate) fn unwire(&self, mapped: &mut Mapped) {
        match mapped.content {
            Content::Page(page) if mapped.marks.has(Marks::WIRED) => {
                self.expect_step(page, PageStep::Unwire);
                mapped.marks = mapped.marks.without(Marks::WIRED);
            }
            Content::Kept(page) => {
                self.expect_step(page, PageStep::Unwire);
                self.release_now(page);
                mapped.content = Content::Nothing;
            }
            _ => {}
        }
    }
}
