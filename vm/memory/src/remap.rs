//! Moving ranges with their contents, and resizing them.
//!
//! A private page is found at its place, the virtual page at which every space of its family that
//! owns it has it (see `reverse`), so a moved page gets a new place. A page that another space owns
//! too stays at the old place, and a copy moves. Pages of a moving range are busy until they have
//! their new places, so no CPU looks for them meanwhile. Swapped contents and object pages have no
//! place in a space: slots move, with new mappings of the objects.
//!
//! Everything that can fail comes first and is invisible: making nodes, mappings and copies. Then
//! contents move.

use crate::address::{PageRange, VirtualPage};
use crate::batch::Batch;
use crate::change::{Left, check_length, check_mapped};
use crate::choose::Anywhere;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::mapping::Mapping;
use crate::page_record::Home;
use crate::page_word::PageStep;
use crate::primitive::push_reserved;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use core::ptr;

/// A locked range in two parts: pages with a counterpart in the other range, and the rest.
struct Parts<'a> {
    common: RangeLock<'a>,
    rest: Option<RangeLock<'a>>,
}

/// Contents of the part by which a range grows.
struct More {
    mapped: Mapped,
    mapping: Option<Counted<Mapping>>,
}

/// An old mapping, as an address for comparison, and the mapping of its pages at their new place.
type Moved = (*mut Inner<Mapping>, Counted<Mapping>);

/// Reasons not to move a range now.
enum Stop {
    /// Another CPU holds a page briefly, has mapped something, or has begun a fork: unlock all and
    /// retry.
    Again,
    Error(SpaceError),
}

impl From<SpaceError> for Stop {
    fn from(error: SpaceError) -> Self {
        Self::Error(error)
    }
}

/// Destination of a range.
enum To {
    /// This range; existing mappings are unmapped.
    At(PageRange),
    /// This unmapped range.
    Free(PageRange),
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Shortens or lengthens a range in place. New pages continue the last page's mapping: zeroes,
    /// or the object's next pages. Fails if the range has a hole ([`SpaceError::NotMapped`]), or
    /// something follows it ([`SpaceError::NoAddress`]); then nothing changes.
    pub fn resize(&self, space: &Space<'m, M>, range: PageRange, pages: u64) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        let resized = PageRange::new(range.first(), pages)?;
        let longest = range.with(resized);
        space.check(longest)?;
        loop {
            self.wait_for_fork(space);
            let result = self.try_resize(space, range, resized, longest);
            self.tidy_parts(space, longest, range.pages().min(pages));
            match result {
                Ok(()) => break,
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Again) => self.wait(),
            }
        }
        self.populate_locked(space, resized);
        Ok(())
    }

    fn try_resize(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        resized: PageRange,
        longest: PageRange,
    ) -> Result<(), Stop> {
        let Parts { common, rest } = self.lock_parts(space, longest, range.pages().min(resized.pages()))?;
        if space.is_forked() {
            return Err(Stop::Again);
        }
        check_mapped(&common)?;
        if let Some(rest) = &rest {
            if resized == longest {
                if !self.is_room(space, rest) {
                    return Err(Stop::Error(SpaceError::NoAddress));
                }
                let More { mapped, mapping } = self.more(space, &common, rest.range())?;
                self.fill(space, rest, mapped, mapping);
            } else {
                check_mapped(rest)?;
                self.clear(space, rest, Left::Hole);
                rest.leaves_holes();
            }
        }
        self.count(Event::Resize);
        Ok(())
    }

    /// Like `tidy`, for a range that was locked in two parts.
    fn tidy_parts(&self, space: &SpaceBody<'m, M>, range: PageRange, pages: u64) {
        self.tidy(space, range);
        if let Ok(rest) = PageRange::new(VirtualPage(range.begin() + pages), range.pages() - pages) {
            self.tidy(space, rest);
        }
    }

    /// Brings in and wires missing pages of a locked range that has moved or grown. A page that
    /// cannot be brought in now is wired by the fault that does.
    fn populate_locked(&self, space: &SpaceBody<'m, M>, range: PageRange) {
        // SAFETY: the guard is held, and the space is active.
        let last = self.pinned(|| unsafe { space.tree.look(range.end() - 1) }.word.view());
        if let View::Mapped(mapped) = last
            && mapped.marks.has(Marks::LOCKED)
        {
            let _ = self.populate(space, range);
        }
    }

    /// Moves a range with its contents to another, which may be longer or shorter and does not
    /// overlap it. Existing mappings there are unmapped. The old range becomes a hole. Fails if the
    /// range has a hole; then nothing changes.
    ///
    /// Private pages that other spaces own too are copied. [`SpaceError::Wait`]: nothing has
    /// changed, because contents are being transferred.
    pub fn move_to(&self, space: &Space<'m, M>, range: PageRange, to: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        space.check(range)?;
        space.check(to)?;
        if range.meets(to) {
            return Err(SpaceError::BadRange);
        }
        self.try_moves(space, range, || Ok(To::At(to))).map(drop)
    }

    /// Like [`move_to`](Self::move_to), to an unmapped range. Returns the range.
    pub fn move_anywhere(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        wanted: Anywhere,
    ) -> Result<PageRange, SpaceError> {
        let space = self.check_active(space)?;
        space.check(range)?;
        self.try_moves(space, range, || self.find_room(space, wanted).map(To::Free))
    }

    fn try_moves(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        mut to: impl FnMut() -> Result<To, SpaceError>,
    ) -> Result<PageRange, SpaceError> {
        loop {
            self.wait_for_fork(space);
            let to = to()?;
            let (To::At(to_range) | To::Free(to_range)) = to;
            let pages = range.pages().min(to_range.pages());
            let moved = self.try_move(space, range, to);
            self.tidy_parts(space, range, pages);
            self.tidy_parts(space, to_range, pages);
            match moved {
                Ok(to) => {
                    self.populate_locked(space, to);
                    return Ok(to);
                }
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Again) => self.wait(),
            }
        }
    }

    fn try_move(&self, space: &SpaceBody<'m, M>, range: PageRange, to: To) -> Result<PageRange, Stop> {
        let (To::At(to_range) | To::Free(to_range)) = to;
        if range.meets(to_range) {
            // Room was found in it, so there is or was a hole.
            check_mapped(&self.lock(space, range).map_err(|error| SpaceError::from(self.no_memory(error)))?)?;
            return Err(Stop::Again);
        }
        let pages = range.pages().min(to_range.pages());
        // By address, as everywhere.
        let (from, target) = if range.begin() < to_range.begin() {
            let from = self.lock_parts(space, range, pages)?;
            (from, self.lock_parts(space, to_range, pages)?)
        } else {
            let target = self.lock_parts(space, to_range, pages)?;
            (self.lock_parts(space, range, pages)?, target)
        };
        if space.is_forked() {
            return Err(Stop::Again);
        }
        check_mapped(&from.common)?;
        from.rest.as_ref().map_or(Ok(()), check_mapped)?;
        if let To::Free(_) = to
            && !(target.common.is_empty()
                && target.rest.as_ref().is_none_or(RangeLock::is_empty)
                && self.is_room(space, target.rest.as_ref().unwrap_or(&target.common)))
        {
            return Err(Stop::Again);
        }
        let more = match &target.rest {
            Some(rest) => Some(self.more(space, &from.common, rest.range())?),
            None => None,
        };
        let moved = self.prepare(space, &from.common, &target.common);
        match moved {
            Ok(mappings) => {
                self.carry_out(space, &from.common, &target.common, &mappings);
                mappings.into_iter().for_each(|(_, mapping)| self.release_mapping(mapping, 1));
            }
            Err(stop) => {
                more.and_then(|more| more.mapping).into_iter().for_each(|mapping| self.release_mapping(mapping, 1));
                return Err(stop);
            }
        }
        if let (Some(rest), Some(More { mapped, mapping })) = (&target.rest, more) {
            self.fill(space, rest, mapped, mapping);
        }
        if let Some(rest) = &from.rest {
            self.clear(space, rest, Left::Hole);
            rest.leaves_holes();
        }
        self.count(Event::Move);
        Ok(to_range)
    }

    /// Locks a range in two parts, the first of which has `pages` pages.
    fn lock_parts<'a>(
        &self,
        space: &'a SpaceBody<'m, M>,
        range: PageRange,
        pages: u64,
    ) -> Result<Parts<'a>, SpaceError> {
        let lock = |range| self.lock(space, range).map_err(|error| SpaceError::from(self.no_memory(error)));
        let common = lock(PageRange::new(range.first(), pages)?)?;
        let rest = PageRange::new(VirtualPage(range.begin() + pages), range.pages() - pages).ok();
        Ok(Parts { common, rest: rest.map(lock).transpose()? })
    }

    /// The contents to map behind a locked range, at `rest`: a continuation of its last page's
    /// mapping.
    fn more(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>, rest: PageRange) -> Result<More, SpaceError> {
        let mut last = None;
        lock.each(|slot, _, _| {
            if let View::Mapped(mapped) = slot.load().view() {
                last = Some((mapped, slot.mapping()));
            }
        });
        let (mapped, mapping) = last.ok_or(SpaceError::NotMapped)?;
        let mapped = Mapped { marks: mapped.marks.only(Marks::GROWS.with(Marks::LOCKED)), ..mapped.emptied() };
        if mapping.is_null() {
            return Ok(More { mapped, mapping: None });
        }
        // SAFETY: the slot is locked, and an owner of the mapping; the reference does not release
        // it.
        let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
        let (object, first) = (&mapping.get().object, lock.range().end().wrapping_add(mapping.get().shift));
        check_length(object.get(), first, rest.pages())?;
        Ok(More { mapped, mapping: Some(self.new_mapping(space, rest, object, first)?) })
    }

    /// Does everything that can fail: slots of the target that end where those of the source do, a
    /// mapping for each run of the source that has one, and the private pages held, each owned by
    /// the source alone.
    fn prepare(&self, space: &SpaceBody<'m, M>, from: &RangeLock<'_>, to: &RangeLock<'_>) -> Result<Vec<Moved>, Stop> {
        let moved = |page: u64| page - from.range().begin() + to.range().begin();
        let mut mappings = Vec::new();
        let prepared = from
            .visit(|slot, begin, _| {
                to.split_at(moved(begin)).map_err(|error| SpaceError::from(self.no_memory(error)))?;
                let old = slot.mapping();
                if old.is_null() || mappings.last().is_some_and(|(last, _)| *last == old) {
                    return Ok(());
                }
                mappings.try_reserve(1).map_err(|_| SpaceError::from(self.no_memory(NoMemory)))?;
                push_reserved(&mut mappings, (old, self.moved_mapping(space, old, begin, moved(begin), from.range())?));
                Ok(())
            })
            .and_then(|()| self.hold_private(space, from));
        if prepared.is_err() {
            mappings.drain(..).for_each(|(_, mapping)| self.release_mapping(mapping, 1));
        }
        prepared.map(|()| mappings)
    }

    /// The new mapping of pages that move, from `begin` of a range on, given their old one.
    fn moved_mapping(
        &self,
        space: &SpaceBody<'m, M>,
        old: *mut Inner<Mapping>,
        begin: u64,
        to: u64,
        range: PageRange,
    ) -> Result<Counted<Mapping>, SpaceError> {
        // SAFETY: a slot that is locked is an owner of the mapping; the reference does not release
        // it.
        let old = ManuallyDrop::new(unsafe { Counted::from_raw(old) });
        let (object, first) = (&old.get().object, begin.wrapping_add(old.get().shift));
        // Up to the end of the range or of the object: may include pages with another mapping,
        // which do no harm.
        let pages = (range.end() - begin).min(object.get().most_pages() - first);
        self.new_mapping(space, PageRange::new(VirtualPage(to), pages)?, object, first)
    }

    /// Makes the private pages of a locked range busy, each owned by the range alone.
    fn hold_private(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>) -> Result<(), Stop> {
        let mut batch = Batch::new(self, space);
        let mut reached = lock.range().begin();
        let held = lock.visit(|slot, begin, pages| {
            self.hold_slot(space, slot, begin, &mut batch)?;
            reached = begin + pages;
            Ok(())
        });
        // Copied originals go when no TLB has them.
        batch.finish();
        if held.is_err() {
            lock.each(|slot, begin, _| {
                if begin < reached
                    && let View::Mapped(Mapped { content: Content::Page(page), .. }) = slot.load().view()
                {
                    self.settle(space, page, begin);
                }
            });
        }
        held
    }

    fn hold_slot(
        &self,
        space: &SpaceBody<'m, M>,
        slot: &Slot,
        begin: u64,
        batch: &mut Batch<'_, 'm, M, F>,
    ) -> Result<(), Stop> {
        let View::Mapped(mut mapped) = slot.load().view() else { return Ok(()) };
        let Content::Page(page) = mapped.content else { return Ok(()) };
        let state = self.word(page).state();
        if state.is_transferred() {
            return Err(Stop::Error(SpaceError::Wait(page)));
        } else if state.is_busy() {
            return Err(Stop::Again);
        } else if state.is_failed() {
            self.put_back(page, &mut mapped);
            slot.set(View::Mapped(mapped));
            return Ok(());
        } else if state.owners() == 1 {
            return self.word(page).step(PageStep::Busy).map(drop).map_err(|_| Stop::Again);
        }
        let home = Home::Family(space.family.as_ptr());
        let (new, _) = self.claim(home, begin).map_err(|error| SpaceError::from(self.no_memory(error)))?;
        self.machine().copy(self.frame(page), self.frame(new));
        self.count(Event::Copy);
        if mapped.is_entered() {
            batch.remove(begin, mapped, begin + 1);
        }
        self.unwire(&mut mapped);
        slot.set(View::Mapped(Mapped { shared: false, content: Content::Page(new), ..mapped.untranslated() }));
        batch.release_page(page);
        Ok(())
    }

    /// Ends exclusive use of a held private page, at its new place.
    fn settle(&self, space: &SpaceBody<'m, M>, page: u32, place: u64) {
        let record = self.record(page);
        record.set_home(Home::Family(space.family.as_ptr()), place);
        self.let_go(page, if record.word.state().is_valid() { PageStep::Unbusy } else { PageStep::Filled });
    }

    /// Moves prepared contents.
    fn carry_out(&self, space: &SpaceBody<'m, M>, from: &RangeLock<'_>, to: &RangeLock<'_>, mappings: &[Moved]) {
        self.clear(space, to, Left::Room);
        let mut current = mappings.iter().peekable();
        to.each(|slot, begin, _| {
            // SAFETY: the guard is held, and the space is active.
            let source = self.pinned(|| unsafe { space.tree.look(begin - to.range().begin() + from.range().begin()) });
            let View::Mapped(mapped) = source.word.view() else { return };
            let old = source.slot.mapping();
            if !old.is_null() {
                while current.next_if(|(of, _)| *of != old).is_some() {}
                slot.set_mapping(current.peek().map_or(ptr::null_mut(), |(_, mapping)| mapping.share(1)));
            }
            slot.set(View::Mapped(mapped.untranslated()));
        });
        let mut batch = Batch::new(self, space);
        from.each(|slot, begin, _| {
            let View::Mapped(mapped) = slot.load().view() else { return };
            let removed = mapped.is_entered().then(|| batch.remove(begin, mapped, from.range().end())).flatten();
            if let Some(removed) = &removed {
                self.note(slot.mapping(), mapped, begin, removed);
            }
            if let Content::Page(page) = mapped.content {
                removed.iter().for_each(|removed| self.note_use(page, removed));
                self.settle(space, page, begin - from.range().begin() + to.range().begin());
            }
            // SAFETY: the slot was an owner, and no longer is.
            unsafe { batch.release_mapping(slot.mapping()) };
            slot.set_mapping(ptr::null_mut());
            slot.set(View::Hole);
        });
        batch.retire(from.range());
        batch.finish();
        from.leaves_holes();
    }
}
