//! Locked memory: wired pages, which the page daemon leaves alone.
//!
//! A locked slot wires its page when it is resident, and owns a wired page: a private page anyway,
//! and an object's page from then on (`Content::Kept`), so neither truncation nor the end of an
//! object frees a wired page. A slot wires its page while it is locked itself, and unwires it
//! before releasing it.
//!
//! A CPU that takes a page away, and had it busy before it was wired, finds the wire: only a slot
//! with the page wires it, so the slot's translation is not removed yet, and wires are checked
//! after all translations are removed (see `consider_held` and `detach_from_object`).

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
    /// Locks a range in memory: makes or reads missing pages, and keeps the page daemon from taking
    /// any until the range is unlocked, unmapped, or its object is truncated. A write to a shared
    /// page still copies it, and the copy is locked. Guards and pages without rights are skipped.
    /// Children do not inherit the lock.
    ///
    /// [`SpaceError::NotMapped`] and [`SpaceError::NoMemory`] while the range is marked: nothing
    /// has changed, unless other threads change its mappings meanwhile; then a front part may be
    /// locked. After other errors resident pages are locked; a missing page is locked by the fault
    /// that brings it in. [`SpaceError::Wait`]: call again to continue.
    pub fn lock_pages(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.check_long(space, range)?;
        self.in_pieces(space, range, |_, lock| {
            check_mapped(lock)?;
            self.count_first(lock, range, Event::Lock);
            lock.each(|slot, _, _| {
                if let View::Mapped(mapped) = slot.load().view()
                    && !mapped.marks.has(Marks::GUARD)
                {
                    slot.set(View::Mapped(Mapped { marks: mapped.marks.with(Marks::LOCKED), ..mapped }));
                }
            });
            Ok(())
        })?;
        self.populate(space.body(), range)
    }

    /// Brings in missing pages of a locked range.
    pub(crate) fn populate(&self, space: &SpaceBody<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        for (page, step) in (range.begin()..range.end()).zip(0_u64..) {
            self.pause_each(step);
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

    /// Unlocks a range, which may have holes.
    pub fn unlock_pages(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.in_pieces(space, range, |_, lock| {
            self.count_first(lock, range, Event::Unlock);
            lock.each(|slot, _, _| {
                if let View::Mapped(mut mapped) = slot.load().view() {
                    self.unwire(&mut mapped);
                    slot.set(View::Mapped(Mapped { marks: mapped.marks.without(Marks::LOCKED), ..mapped }));
                }
            });
            Ok(())
        })
    }

    /// Wires a page of a locked range after its fault. The slot is locked, and contains `now`.
    #[cold]
    pub(crate) fn wire(&self, slot: &Slot, page: VirtualPage, now: &mut Mapped) -> Result<(), FaultError> {
        match now.content {
            Content::Page(page) if !now.marks.has(Marks::WIRED) => {
                self.word(page).step(PageStep::Wire).map_err(|_| FaultError::NoMemory)?;
                now.marks = now.marks.with(Marks::WIRED);
            }
            Content::Nothing if !slot.mapping().is_null() => {
                // SAFETY: the slot is locked, and an owner of the mapping; the reference does not
                // release it.
                let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(slot.mapping()) });
                let object = mapping.get().object.get();
                let index = page.0.wrapping_add(mapping.get().shift);
                let (false, Some(page)) = (matches!(object.backing(), Backing::Device(_)), object.page(index)) else {
                    return Ok(());
                };
                // It stays in place while the slot from which it was entered is locked.
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

    /// Removes a locked slot's wire, before the slot releases the page. An object's page has its
    /// object as an owner.
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
