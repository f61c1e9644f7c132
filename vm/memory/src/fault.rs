//! Page faults: one page, cheapest way first.
//!
//! A fault locks the one slot of its page. It writes the slot, the page-table entry and, for a new page, the page's word: lines of the
//! page, not of the space. The way to them is read only. A resident page of an object needs no write to the object or its page.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::batch::Batch;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::{FaultError, NoMemory};
use crate::machine::{Flush, FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::Mapping;
use crate::pmap::Pmap;
use crate::primitive::relax;
use crate::space::Space;
use crate::tree::slot::{Mapped, Slot, View};
use crate::tree::{LockStep, Tree};

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Resolves a fault: afterwards the page tables allow the access, unless another thread has changed the mapping by then. The caller
    /// tries the access again.
    pub fn fault(&self, space: &Space<'m, M>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        self.check_active(space).map_err(|_| FaultError::NotActive)?;
        self.count(Event::Fault);
        let resolved = self.resolve(space, page, access);
        match resolved {
            Err(FaultError::NoMemory) => self.count(Event::NoMemory),
            Err(_) => self.count(Event::Refused),
            Ok(()) => {}
        }
        resolved
    }

    fn resolve(&self, space: &Space<'m, M>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        PageRange::new(page, 1).map_err(|_| FaultError::NotMapped)?;
        let slot = loop {
            match self.lock_page(space, page, access)? {
                Some(slot) => break slot,
                None => {
                    self.count(Event::Wait);
                    relax();
                }
            }
        };
        // It may have changed between the look and the lock.
        match slot.load().view() {
            View::Mapped(mapped) if mapped.rights.allows(access) => {
                let mut now = mapped;
                let resolved = self.resolve_locked(space, slot, page, access, &mut now);
                slot.unlock_as(View::Mapped(now));
                resolved.map_err(FaultError::from)
            }
            view => {
                slot.unlock();
                Err(if view == View::Hole { FaultError::NotMapped } else { FaultError::NotAllowed })
            }
        }
    }

    /// Locks the page's slot, if the access is allowed. None if another CPU has it.
    fn lock_page<'a>(
        &self,
        space: &'a Space<'m, M>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<Option<&'a Slot>, FaultError> {
        let _pinned = self.pin();
        // SAFETY: the guard is held, and the space is active.
        let place = unsafe { space.tree.look(page.0) };
        if place.word.is_locked() {
            return Ok(None);
        }
        if !place.word.allows(access) {
            return match place.word.view() {
                View::Hole => Err(FaultError::NotMapped),
                View::Mapped(_) => Err(FaultError::NotAllowed),
                View::Stray | View::Node(_) => Ok(None),
            };
        }
        // SAFETY: as above.
        let step = unsafe { Tree::lock_at(place, page.0, page.0 + 1, &mut || self.count(Event::Split)) };
        Ok(match step? {
            LockStep::Locked(slot, _) => Some(slot),
            LockStep::Taken => None,
        })
    }

    /// `now`: what the slot says, which is changed to what it shall say, after an error too.
    fn resolve_locked(
        &self,
        space: &Space<'m, M>,
        slot: &Slot,
        page: VirtualPage,
        access: Rights,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        let entry = if now.entered { self.pinned(|| space.pmap.query(page)) } else { None };
        if entry.is_some() {
            // This CPU's TLB may have the entry with fewer rights.
            self.machine().flush(self.number, &Flush { space: space.id, pages: one(page) });
        }
        if entry.is_some_and(|entry| entry.rights.allows(access)) {
            self.count(Event::Spurious);
            return Ok(());
        }
        let mapping = slot.mapping();
        if !mapping.is_null() {
            return self.resolve_object(space, mapping, page, now);
        }
        match now.page {
            None => self.zero_fill(space, page, now),
            Some(held) if !now.shared || self.word(held).is_sole() => self.write_in_place(space, page, held, now),
            Some(held) if access.allows(Rights::WRITE) => self.copy(space, page, held, now),
            Some(held) => self.enter(space, page, held, now.rights.without(Rights::WRITE), now),
        }
    }

    fn resolve_object(
        &self,
        space: &Space<'m, M>,
        mapping: *mut Inner<Mapping>,
        page: VirtualPage,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        // SAFETY: the slot is locked, and an owner of the mapping; the reference does not end it.
        let mapping = core::mem::ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
        let mapping = mapping.get();
        let held = self.object_page(mapping.object.get(), page.0.wrapping_add(mapping.shift))?;
        self.enter(space, page, held, now.rights, now)
    }

    fn zero_fill(&self, space: &Space<'m, M>, page: VirtualPage, now: &mut Mapped) -> Result<(), NoMemory> {
        let (new, zeroed) = self.claim()?;
        if !zeroed {
            self.machine().zero(self.frame(new));
        }
        self.filled(new);
        self.enter(space, page, new, now.rights, now).inspect_err(|_| self.release_now(new))?;
        self.count(Event::ZeroFill);
        now.page = Some(new);
        Ok(())
    }

    /// The page is this slot's alone: whatever the mapping allows.
    fn write_in_place(
        &self,
        space: &Space<'m, M>,
        page: VirtualPage,
        held: u32,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        self.enter(space, page, held, now.rights, now)?;
        if now.shared {
            now.shared = false;
            self.count(Event::TakenOver);
        }
        Ok(())
    }

    fn copy(&self, space: &Space<'m, M>, page: VirtualPage, held: u32, now: &mut Mapped) -> Result<(), NoMemory> {
        let (new, _) = self.claim()?;
        self.machine().copy(self.frame(held), self.frame(new));
        self.filled(new);
        let mut batch = Batch::new(self, space);
        if now.entered {
            // Other threads must not read the old page when this one writes the new one.
            if self.pinned(|| space.pmap.remove(page, &mut batch.tables)).is_some() {
                batch.changed(page.0);
            }
            batch.finish();
            now.entered = false;
        }
        self.enter(space, page, new, now.rights, now).inspect_err(|_| self.release_now(new))?;
        self.release_now(held);
        self.count(Event::Copy);
        (now.page, now.shared) = (Some(new), false);
        Ok(())
    }

    /// Makes the page-table entry.
    #[inline(always)]
    fn enter(
        &self,
        space: &Space<'m, M>,
        page: VirtualPage,
        held: u32,
        rights: Rights,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        let mut tables = Default::default();
        let entered = self.pinned(|| space.pmap.enter(page, self.frame(held), rights, &mut tables));
        // Tables that were made in vain. Few faults have any, and a batch is long.
        if !M::Pmap::is_empty(&tables) {
            self.free_tables(space, tables);
        }
        now.entered |= entered.is_ok();
        entered
    }

    #[cold]
    fn free_tables(&self, space: &Space<'m, M>, tables: <M::Pmap as Pmap>::Retired) {
        let mut batch = Batch::new(self, space);
        batch.tables = tables;
        batch.finish();
    }

    fn pinned<R>(&self, act: impl FnOnce() -> R) -> R {
        let _pinned = self.pin();
        act()
    }
}

fn one(page: VirtualPage) -> PageRange {
    PageRange::new(page, 1).unwrap_or(PageRange::ALL)
}
