//! Changes of a space: map, unmap, protect, don't-need, guard.
//!
//! Each locks the range, in pieces if it is long (see `pieces`), changes slots and page-table
//! entries, waits until CPUs have forgotten removed translations, and unlocks. Only locks need
//! memory, so a piece that has begun does not fail. The first piece fails before any change; a
//! later one fails only if other CPUs change mappings of the range or take out empty nodes
//! meanwhile, and those before it stay changed.

use crate::address::{PageRange, Rights};
use crate::batch::Batch;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine, Translation};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::object::mapping::Mapping;
use crate::object::{Backing, Object};
use crate::page_word::PageStep;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::ptr;

/// State of a range after its contents are taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// A hole.
    Hole,
    /// A hole whose tree nodes stay, because it is mapped again.
    Room,
    /// The unchanged mapping.
    Mapping,
    /// The mapping, as a guard.
    Guard,
}

/// Checks that an object has, had or may again have this many pages from `first` on.
pub(crate) fn check_length(object: &Object, first: u64, pages: u64) -> Result<(), SpaceError> {
    match first.checked_add(pages) {
        Some(end) if end <= object.most_pages() => Ok(()),
        _ => Err(SpaceError::BeyondObject),
    }
}

/// Checks that a locked range has no hole.
pub(crate) fn check_mapped(lock: &RangeLock<'_>) -> Result<(), SpaceError> {
    lock.visit(|slot, _, _| match slot.load().view() {
        View::Mapped(_) => Ok(()),
        _ => Err(SpaceError::NotMapped),
    })
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Maps private zero-fill memory. Replaces existing mappings: each page has its old or its new
    /// one at any time.
    pub fn map(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        self.map_as(space, range, Mapped::untouched(rights), None)
    }

    /// Maps an object from its page `first` on; writes go to the object. Replaces existing
    /// mappings: each page has its old or its new one at any time.
    pub fn map_object(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<(), SpaceError> {
        self.check_object(object, first, range.pages())?;
        self.map_as(space, range, Mapped::untouched(rights), Some((&object.object, first)))
    }

    /// Maps an object from its page `first` on, privately: the first write to a page copies it.
    /// Replaces existing mappings: each page has its old or its new one at any time.
    pub fn map_private(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<(), SpaceError> {
        self.check_private(object, first, range.pages())?;
        let mapped = Mapped { copies: true, ..Mapped::untouched(rights) };
        self.map_as(space, range, mapped, Some((&object.object, first)))
    }

    /// Maps a range, to an object from one of its pages on if one is given.
    pub(crate) fn map_as(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        mapped: Mapped,
        object: Option<(&Counted<Object>, u64)>,
    ) -> Result<(), SpaceError> {
        let mut mapping = None;
        let result = self.in_pieces(space, range, |space, lock| {
            if lock.range().begin() == range.begin() {
                mapping = match object {
                    Some((object, first)) => Some(self.new_mapping(space, range, object, first)?),
                    None => None,
                };
                self.count(Event::Map);
            }
            self.fill_piece(space, lock, mapped, mapping.as_ref());
            Ok(())
        });
        mapping.into_iter().for_each(|mapping| self.release_mapping(mapping, 1));
        result
    }

    /// Checks that pages of an object may be mapped.
    pub(crate) fn check_object(&self, object: &MemoryObject<'m, M>, first: u64, pages: u64) -> Result<(), SpaceError> {
        if !ptr::eq(object.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        check_length(object.object.get(), first, pages)
    }

    /// Checks that pages of an object may be mapped privately.
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
        // Before a slot says that it is mapped, so that reverse lookups find it. SAFETY: its last
        // owner removes it.
        if unsafe { mappings.add(mapping.as_ptr(), list) } {
            // The caller's handle keeps the object alive until then.
            object.share(1);
        }
        Ok(mapping)
    }

    /// Maps a locked range, to an object if `mapping` is given.
    pub(crate) fn fill(
        &self,
        space: &SpaceBody<'m, M>,
        lock: &RangeLock<'_>,
        mapped: Mapped,
        mapping: Option<Counted<Mapping>>,
    ) {
        self.count(Event::Map);
        self.fill_piece(space, lock, mapped, mapping.as_ref());
        if let Some(mapping) = mapping {
            self.release_mapping(mapping, 1);
        }
    }

    fn fill_piece(
        &self,
        space: &SpaceBody<'m, M>,
        lock: &RangeLock<'_>,
        mapped: Mapped,
        mapping: Option<&Counted<Mapping>>,
    ) {
        self.clear(space, lock, Left::Hole);
        lock.each(|slot, _, _| {
            slot.set_mapping(mapping.map_or(ptr::null_mut(), |mapping| mapping.share(1)));
            slot.set(View::Mapped(mapped));
        });
    }

    /// Unmaps a range, which may have holes. Pages of a long range go one after the other.
    pub fn unmap(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.in_pieces(space, range, |space, lock| {
            self.count_first(lock, range, Event::Unmap);
            if lock.range().begin() == range.begin() {
                self.note_room(space, range);
            }
            self.clear(space, lock, Left::Hole);
            lock.leaves_holes();
            Ok(())
        })
    }

    /// Discards the contents of private pages: they read as zeroes afterwards. Object pages keep
    /// theirs. The range may have holes.
    pub fn dont_need(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.in_pieces(space, range, |space, lock| {
            self.count_first(lock, range, Event::DontNeed);
            self.clear(space, lock, Left::Mapping);
            Ok(())
        })
    }

    /// Changes the rights of a range. Fails if it has a hole; then nothing changes, unless another
    /// thread made the hole meanwhile.
    pub fn protect(&self, space: &Space<'m, M>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        self.check_long(space, range)?;
        self.in_pieces(space, range, |space, lock| {
            check_mapped(lock)?;
            self.count_first(lock, range, Event::Protect);
            let mut batch = Batch::new(self, space);
            lock.each(|slot, begin, _| {
                let View::Mapped(mapped) = slot.load().view() else { return };
                slot.set(View::Mapped(Mapped { rights, ..mapped }));
                if mapped.is_entered() {
                    batch.protect(begin, mapped, rights, lock.range().end());
                }
            });
            batch.finish();
            Ok(())
        })
    }

    /// Counts a call with its first piece.
    pub(crate) fn count_first(&self, lock: &RangeLock<'_>, range: PageRange, event: Event) {
        if lock.range().begin() == range.begin() {
            self.count(event);
        }
    }

    /// Takes away pages and translations of a locked range.
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

    /// Records the accessed and dirty bits of an object page's translation.
    pub(crate) fn note(&self, mapping: *mut Inner<Mapping>, mapped: Mapped, page: u64, removed: &Translation) {
        if mapping.is_null() || !matches!(mapped.content, Content::Nothing | Content::Kept(_)) {
            return;
        }
        // SAFETY: the locked slot with the mapping is one of its owners; the reference does not
        // release it.
        let mapping = core::mem::ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
        let mapping = mapping.get();
        let Some(page) = mapping.object.get().page(page.wrapping_add(mapping.shift)) else { return };
        self.note_use(page, removed);
    }

    /// Records the accessed and dirty bits of a page's translation.
    pub(crate) fn note_use(&self, page: u32, said: &Translation) {
        for (is_set, step) in [(said.dirty, PageStep::Dirty), (said.accessed, PageStep::Referenced)] {
            if is_set {
                // A page that was mapped is valid.
                self.expect_step(page, step);
            }
        }
    }

    /// Counts an allocation failure.
    pub(crate) fn no_memory<E>(&self, error: E) -> E {
        self.count(Event::NoMemory);
        error
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    // Guards: a guard is a mark of a slot, so a large one is one slot, without pages or page-table
    // entries.

    /// Makes a range refuse every access, regardless of its rights: a fault returns
    /// [`FaultError::Guarded`]. Private contents are discarded. Children inherit guards. Fails if
    /// the range has a hole; then nothing changes, unless another thread made the hole meanwhile.
    ///
    /// [`FaultError::Guarded`]: crate::FaultError::Guarded
    pub fn guard(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.check_long(space, range)?;
        self.in_pieces(space, range, |space, lock| {
            check_mapped(lock)?;
            self.count_first(lock, range, Event::Guard);
            self.clear(space, lock, Left::Guard);
            Ok(())
        })
    }

    /// Removes guards: the range has its former mapping, without private contents. Holes and pages
    /// without guards stay unchanged.
    pub fn unguard(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        self.in_pieces(space, range, |_, lock| {
            // Removes no translation, so no CPU is asked: a guard has none.
            lock.each(|slot, _, _| {
                if let View::Mapped(mapped) = slot.load().view() {
                    slot.set(View::Mapped(Mapped { marks: mapped.marks.without(Marks::GUARD), ..mapped }));
                }
            });
            Ok(())
        })
    }
}
