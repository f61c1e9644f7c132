//! Changes of a space: map, unmap, protect, and giving contents up.
//!
//! All have one form: lock the range, change its slots and page-table entries, wait until the CPUs have forgotten what was
//! taken away, and unlock. Only the lock needs memory, so a change that has begun does not fail.

use crate::address::{PageRange, Rights};
use crate::batch::Batch;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::object::mapping::Mapping;
use crate::object::{Backing, Object};
use crate::page_word::PageStep;
use crate::pmap::Translation;
use crate::range_lock::RangeLock;
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::ptr;

/// What is left of a range whose contents are taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    Hole,
    /// Nothing, and the tree's nodes stay: something else comes there.
    Room,
    /// What it is mapped to.
    Mapping,
    /// That, as a guard.
    Guard,
}

/// Whether an object has so many pages from `first` on, or had, or may have again.
pub(crate) fn check_length(object: &Object, first: u64, pages: u64) -> Result<(), SpaceError> {
    match first.checked_add(pages) {
        Some(end) if end <= object.most_pages() => Ok(()),
        _ => Err(SpaceError::BeyondObject),
    }
}

/// Whether there is no hole in a locked range.
pub(crate) fn check_mapped(lock: &RangeLock<'_>) -> Result<(), SpaceError> {
    lock.visit(|slot, _, _| match slot.load().view() {
        View::Mapped(_) => Ok(()),
        _ => Err(SpaceError::NotMapped),
    })
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Maps private memory of zeroes. What was mapped there is unmapped in the same step.
    pub fn map(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.fill(space, &lock, Mapped::untouched(rights), None);
        Ok(())
    }

    /// Maps an object from its page `first` on: all that is written there is the object's. What was mapped there is unmapped in the
    /// same step.
    pub fn map_object(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        self.check_object(object, first, range.pages())?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.fill_with(space, &lock, Mapped::untouched(rights), &object.object, first)
    }

    /// Maps an object from its page `first` on, and keeps what is written there private: the first write to a page copies it. What
    /// was mapped there is unmapped in the same step.
    pub fn map_private(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        self.check_private(object, first, range.pages())?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.fill_with(space, &lock, Mapped { copies: true, ..Mapped::untouched(rights) }, &object.object, first)
    }

    /// Whether pages of an object may be mapped.
    pub(crate) fn check_object(&self, object: &MemoryObject<'m, M>, first: u64, pages: u64) -> Result<(), SpaceError> {
        if !ptr::eq(object.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        check_length(object.object.get(), first, pages)
    }

    /// Whether pages of an object may be mapped privately.
    pub(crate) fn check_private(&self, object: &MemoryObject<'m, M>, first: u64, pages: u64) -> Result<(), SpaceError> {
        match object.object.get().backing() {
            Backing::Device(_) => Err(SpaceError::Device),
            _ => self.check_object(object, first, pages),
        }
    }

    /// Maps a locked range to an object from its page `first` on.
    pub(crate) fn fill_with(
        &self,
        space: &SpaceBody<'m, M>,
        lock: &RangeLock<'_>,
        mapped: Mapped,
        object: &Counted<Object>,
        first: u64,
    ) -> Result<(), SpaceError> {
        let mapping = self.new_mapping(space, lock.range(), object, first)?;
        self.fill(space, lock, mapped, Some(mapping));
        Ok(())
    }

    /// A mapping of a range to an object from its page `first` on.
    pub(crate) fn new_mapping(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        object: &Counted<Object>,
        first: u64,
    ) -> Result<Counted<Mapping>, SpaceError> {
        let mappings = object.get().mappings();
        let list = mappings.list_of(self.number);
        let mapping = Counted::try_with(|| {
            Mapping::new(object.alias(), list, space.family.alias(), range.begin(), first, range.pages())
        });
        let mapping = mapping.map_err(|error| self.no_memory(error))?;
        // Before a slot says that it is mapped, so that whoever looks for its translations finds it.
        // SAFETY: its last owner removes it.
        if unsafe { mappings.add(mapping.as_ptr(), list) } {
            // The caller's handle keeps the object until then.
            object.share(1);
        }
        Ok(mapping)
    }

    /// Maps a locked range, to an object if there is a mapping.
    pub(crate) fn fill(
        &self,
        space: &SpaceBody<'m, M>,
        lock: &RangeLock<'_>,
        mapped: Mapped,
        mapping: Option<Counted<Mapping>>,
    ) {
        self.count(Event::Map);
        self.clear(space, lock, Left::Hole);
        lock.each(|slot, _, _| {
            slot.set_mapping(mapping.as_ref().map_or(ptr::null_mut(), |mapping| mapping.share(1)));
            slot.set(View::Mapped(mapped));
        });
        if let Some(mapping) = mapping {
            self.release_mapping(mapping, 1);
        }
    }

    /// Unmaps a range, in which there may be holes.
    pub fn unmap(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::Unmap);
        self.note_room(space, range);
        self.clear(space, &lock, Left::Hole);
        Ok(())
    }

    /// Gives the contents of private pages up: they are zeroes again when they are used next. Pages of objects keep
    /// theirs. There may be holes in the range.
    pub fn dont_need(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        self.count(Event::DontNeed);
        self.clear(space, &lock, Left::Mapping);
        Ok(())
    }

    /// Changes what may be done with a range. Fails if there is a hole in it; then nothing is changed.
    pub fn protect(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
        check_mapped(&lock)?;
        self.count(Event::Protect);
        let mut batch = Batch::new(self, space);
        lock.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            slot.set(View::Mapped(Mapped { rights, ..mapped }));
            if mapped.is_entered() {
                batch.protect(begin, mapped, rights, range.end());
            }
        });
        batch.finish();
        Ok(())
    }

    /// Takes pages and translations of a locked range away.
    pub(crate) fn clear(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>, left: Left) {
        let mut batch = Batch::new(self, space);
        lock.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            self.clear_slot(slot, begin, mapped, lock.range().end(), &mut batch);
            match left {
                Left::Hole | Left::Room => {
                    // SAFETY: the slot was an owner, and no longer is.
                    unsafe { batch.release_mapping(slot.mapping()) };
                    slot.set_mapping(ptr::null_mut());
                    slot.set(View::Hole);
                }
                Left::Mapping => slot.set(View::Mapped(mapped.emptied())),
                Left::Guard => {
                    let emptied = mapped.emptied();
                    slot.set(View::Mapped(Mapped {
                        marks: emptied.marks.without(Marks::LOCKED).with(Marks::GUARD),
                        ..emptied
                    }));
                }
            }
        });
        if left == Left::Hole {
            batch.retire(lock.range());
        }
        batch.finish();
    }

    fn clear_slot(&self, slot: &Slot, begin: u64, mut mapped: Mapped, end: u64, batch: &mut Batch<'_, 'm, M, F>) {
        self.unwire(&mut mapped);
        match mapped.content {
            Content::Nothing | Content::Kept(_) => {}
            Content::Page(page) => batch.release_page(page),
            Content::Swapped(slot) => self.release_swap(slot),
        }
        if mapped.is_entered()
            && let Some(removed) = batch.remove(begin, mapped, end)
        {
            self.note(slot.mapping(), mapped, begin, &removed);
        }
    }

    /// Keeps what a translation of an object's page said about its use.
    pub(crate) fn note(&self, mapping: *mut Inner<Mapping>, mapped: Mapped, page: u64, removed: &Translation) {
        if mapping.is_null() || !matches!(mapped.content, Content::Nothing | Content::Kept(_)) {
            return;
        }
        // SAFETY: the slot that has the mapping is locked, and one of its owners; the reference does not end it.
        let mapping = core::mem::ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
        let mapping = mapping.get();
        let Some(page) = mapping.object.get().page(page.wrapping_add(mapping.shift)) else { return };
        self.note_use(page, removed);
    }

    /// Keeps what a translation of a page said about its use.
    pub(crate) fn note_use(&self, page: u32, said: &Translation) {
        for (is_set, step) in [(said.dirty, PageStep::Dirty), (said.accessed, PageStep::Referenced)] {
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
