//! Changes of a space: map, unmap, protect, and giving contents up.
//!
//! All have one form: lock the range, change its slots and page-table entries, wait until the CPUs have forgotten what was
//! taken away, and unlock. Only the lock needs memory, so a change that has begun does not fail.

use crate::address::{PageRange, Rights};
use crate::anonymous::Anonymous;
use crate::batch::Batch;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::Mapping;
use crate::page_word::PageStep;
use crate::pmap::{Pmap, Translation};
use crate::range_lock::RangeLock;
use crate::space::Space;
use crate::tree::slot::{Mapped, Slot, View};
use core::ptr;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Maps private memory of zeroes. What was mapped there is unmapped in the same step.
    pub fn map(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        self.check_active(space)?;
        self.map_as(space, range, rights, None)
    }

    /// Maps an object from its page `first` on. What was mapped there is unmapped in the same step.
    pub fn map_object(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        object: &Anonymous<'m, M>,
        first: u64,
    ) -> Result<(), SpaceError> {
        self.check_active(space)?;
        if !ptr::eq(object.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        if first.checked_add(range.pages()).is_none_or(|end| end > object.pages()) {
            return Err(SpaceError::BeyondObject);
        }
        let shift = first.wrapping_sub(range.begin());
        let mapping = Counted::try_new(Mapping { object: object.object.another(), shift });
        let mapping = mapping.map_err(|error| self.no_memory(error))?;
        let mapped = self.map_as(space, range, rights, Some(&mapping));
        // The last owner only if nothing was mapped.
        if let Some(last) = mapping.release(1) {
            self.release_object(last.object);
        }
        mapped
    }

    fn map_as(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        mapping: Option<&Counted<Mapping>>,
    ) -> Result<(), SpaceError> {
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::Map);
        self.clear(space, &lock, &View::Hole);
        lock.each(|slot, _, _| {
            slot.set_mapping(mapping.map_or(ptr::null_mut(), |mapping| mapping.share(1)));
            slot.set(View::Mapped(Mapped::untouched(rights)));
        });
        Ok(())
    }

    /// Unmaps a range, in which there may be holes.
    pub fn unmap(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::Unmap);
        self.clear(space, &lock, &View::Hole);
        Ok(())
    }

    /// Gives the contents of private pages up: they are zeroes again when they are used next. Pages of objects keep
    /// theirs. There may be holes in the range.
    pub fn dont_need(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::DontNeed);
        self.clear(space, &lock, &View::Mapped(Mapped::untouched(Rights::NONE)));
        Ok(())
    }

    /// Changes what may be done with a range. Fails if there is a hole in it; then nothing is changed.
    pub fn protect(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        lock.visit(|slot, _, _| match slot.load().view() {
            View::Mapped(_) => Ok(()),
            _ => Err(SpaceError::NotMapped),
        })?;
        self.count(Event::Protect);
        let mut batch = Batch::new(self, space);
        lock.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            slot.set(View::Mapped(Mapped { rights, ..mapped }));
            if !mapped.entered {
                return;
            }
            // An entry never gains rights here: the next fault adds them.
            let pinned = self.pin();
            let before = space.pmap.protect(crate::address::VirtualPage(begin), rights);
            drop(pinned);
            if before.is_some_and(|before| !rights.allows(before.rights)) {
                batch.changed(begin);
            }
        });
        batch.finish();
        Ok(())
    }

    /// Takes pages and translations of a locked range away. `left`: a hole, so that mappings go too, or a mapped slot, so that
    /// they stay.
    fn clear(&self, space: &Space<'m, M>, lock: &RangeLock<'_>, left: &View) {
        let mut batch = Batch::new(self, space);
        lock.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            self.clear_slot(space, slot, begin, mapped, &mut batch);
            if *left == View::Hole {
                // SAFETY: the slot was an owner, and no longer is.
                unsafe { batch.release_mapping(slot.mapping()) };
                slot.set_mapping(ptr::null_mut());
                slot.set(View::Hole);
            } else {
                slot.set(View::Mapped(Mapped::untouched(mapped.rights)));
            }
        });
        // Nodes are taken out only when CPUs must be asked anyway.
        if *left == View::Hole && batch.is_due() {
            // SAFETY: the range is locked, and all holes.
            unsafe { space.tree.retire(lock.range(), &mut batch.nodes) };
        }
        batch.finish();
    }

    fn clear_slot(
        &self,
        space: &Space<'m, M>,
        slot: &Slot,
        begin: u64,
        mapped: Mapped,
        batch: &mut Batch<'_, 'm, M, F>,
    ) {
        if let Some(page) = mapped.page {
            batch.release_page(page);
        }
        if !mapped.entered {
            return;
        }
        let pinned = self.pin();
        let removed = space.pmap.remove(crate::address::VirtualPage(begin), &mut batch.tables);
        drop(pinned);
        if let Some(removed) = removed {
            batch.changed(begin);
            self.note(slot.mapping(), begin, &removed);
        }
    }

    /// Keeps what a translation of an object's page said about its use.
    pub(crate) fn note(&self, mapping: *mut Inner<Mapping>, page: u64, removed: &Translation) {
        if mapping.is_null() {
            return;
        }
        // SAFETY: the slot that has the mapping is locked, and one of its owners; the reference does not end it.
        let mapping = core::mem::ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
        let mapping = mapping.get();
        let Some(page) = mapping.object.get().page(page.wrapping_add(mapping.shift)) else { return };
        for (is_set, step) in [(removed.dirty, PageStep::Dirty), (removed.accessed, PageStep::Referenced)] {
            if is_set {
                let noted = self.word(page).step(step);
                debug_assert!(noted.is_ok(), "a page that was mapped is valid: {noted:?}");
            }
        }
    }

    /// Counts a lack of memory.
    pub(crate) fn no_memory<E>(&self, error: E) -> E {
        self.count(Event::NoMemory);
        error
    }
}
