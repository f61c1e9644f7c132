//! Page faults: resolves a fault on one page by the cheapest applicable method.
//!
//! A fault locks the one slot of its page. It writes the slot, the page-table entry and, for a new
//! page, the page's word: lines of the page, not of the space. The walk to them only reads. A
//! resident page of an object needs no write to the object or its page.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::batch::Batch;
use crate::counted::Counted;
use crate::counters::Event;
use crate::error::{FaultError, NoMemory};
use crate::machine::{Flush, FrameSource, Machine, Pmap};
use crate::memory::Cpu;
use crate::object::Backing;
use crate::object::mapping::Mapping;
use crate::page_in::{PageIn, Sought};
use crate::page_record::Home;
use crate::page_word::PageStep;
use crate::primitive::relax;
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use crate::tree::{LockStep, Tree};
use core::ptr;
use faultline_numbers::FrameNumber;

/// Number of pages in an aligned block around a faulting page that a read maps if they are
/// resident: 64 KiB, as in Linux.
const AROUND: u64 = 16;

/// Progress of a fault.
enum Step {
    Done,
    /// Another CPU holds the slot or the page briefly.
    Again,
    /// The page is being transferred.
    Wait(u32),
    /// Must start this read first.
    Begin(PageIn),
    /// The range around the page looks untouched: try a large page.
    Untouched,
}

/// Result of looking for a page's slot.
enum Found<'a> {
    Locked(&'a Slot),
    /// Held by another CPU.
    Taken,
    /// Not locked: the range around the page looks untouched, so try a large page.
    Untouched,
}

/// The error for an access that a hole or a mapped slot refuses.
fn refusal(view: View) -> FaultError {
    match view {
        View::Mapped(mapped) if mapped.marks.has(Marks::GUARD) => FaultError::Guarded,
        View::Mapped(_) => FaultError::NotAllowed,
        _ => FaultError::NotMapped,
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Resolves a fault: afterwards the page tables allow the access, unless another thread changes
    /// the mapping first. The caller retries the access.
    pub fn fault(&self, space: &Space<'m, M>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        let space = self.check_active(space).map_err(|_| FaultError::NotActive)?;
        self.count(Event::Fault);
        if !(space.pages.begin()..space.pages.end()).contains(&page.0) {
            self.count(Event::Refused);
            return Err(FaultError::NotMapped);
        }
        let mut resolved = self.resolve(space, page, access);
        while resolved == Err(FaultError::NotMapped) {
            resolved = match self.grow_stack(space, page) {
                Ok(true) => self.resolve(space, page, access),
                Ok(false) => break,
                Err(NoMemory) => Err(FaultError::NoMemory),
            };
        }
        match resolved {
            Err(FaultError::NoMemory) => self.count(Event::NoMemory),
            Err(FaultError::Wait(_)) => self.count(Event::PageWait),
            Err(_) => self.count(Event::Refused),
            Ok(()) => {}
        }
        resolved
    }

    /// Resolves a fault within the limits of the space.
    pub(crate) fn resolve(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<(), FaultError> {
        // A read says little about future use.
        let mut may_be_large = M::Pmap::LARGE_PAGES > 1 && access.allows(Rights::WRITE);
        loop {
            let step = self.try_resolve(space, page, access, may_be_large)?;
            // No slot is locked from here on.
            match step {
                Step::Done => return Ok(()),
                Step::Untouched => {
                    if self.fill_large(space, page) {
                        return Ok(());
                    }
                    may_be_large = false;
                }
                Step::Again => {
                    self.count(Event::Wait);
                    relax();
                }
                Step::Wait(page) => return Err(FaultError::Wait(page)),
                Step::Begin(page_in) => {
                    let page = page_in.page();
                    if !self.begin(space, page_in, self.read_ahead()) {
                        return Err(FaultError::Wait(page));
                    }
                }
            }
        }
    }

    /// Locks the page's slot, resolves the fault in it and unlocks it, if nothing else must happen
    /// first. Not inlined: the compiler would compute values before the loop of `resolve` that most
    /// faults do not need.
    #[inline(never)]
    fn try_resolve(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        access: Rights,
        may_be_large: bool,
    ) -> Result<Step, FaultError> {
        match self.lock_page(space, page, access, may_be_large)? {
            Found::Locked(slot) => self.resolve_slot(space, slot, page, access),
            Found::Taken => Ok(Step::Again),
            Found::Untouched => Ok(Step::Untouched),
        }
    }

    /// Resolves the fault in a locked slot, and unlocks the slot.
    #[inline(always)]
    fn resolve_slot(
        &self,
        space: &SpaceBody<'m, M>,
        slot: &Slot,
        page: VirtualPage,
        access: Rights,
    ) -> Result<Step, FaultError> {
        // The slot may have changed before it was locked.
        match slot.load().view() {
            View::Mapped(mapped) if mapped.allows(access) => {
                let mut now = mapped;
                let mut resolved = self.resolve_locked(space, slot, page, access, &mut now);
                if now.marks.has(Marks::LOCKED) && matches!(resolved, Ok(Step::Done)) {
                    resolved = self.wire(slot, page, &mut now).map(|()| Step::Done);
                }
                slot.unlock_as(View::Mapped(now));
                resolved
            }
            view => {
                slot.unlock();
                Err(refusal(view))
            }
        }
    }

    /// Locks the page's slot, if the access is allowed.
    #[inline(always)]
    fn lock_page<'a>(
        &self,
        space: &'a SpaceBody<'m, M>,
        page: VirtualPage,
        access: Rights,
        may_be_large: bool,
    ) -> Result<Found<'a>, FaultError> {
        let _pinned = self.pin();
        // SAFETY: the guard is held, and the space is active.
        let place = unsafe { space.tree.look(page.0) };
        if place.word.is_locked() {
            return Ok(Found::Taken);
        }
        if !place.word.allows(access) {
            return match place.word.view() {
                View::Stray | View::Node(_) => Ok(Found::Taken),
                view => Err(refusal(view)),
            };
        }
        // Also checks the first page of a large one where slots were divided: contents may have
        // been given up since.
        if may_be_large && (place.is_above_leaves() || page.0.is_multiple_of(M::Pmap::LARGE_PAGES)) {
            return Ok(Found::Untouched);
        }
        // SAFETY: as above.
        let step = unsafe { Tree::lock_at(place, page.0, page.0 + 1, &mut |_| self.count(Event::Split)) };
        Ok(match step? {
            LockStep::Locked(slot, _) => Found::Locked(slot),
            LockStep::Taken => Found::Taken,
        })
    }

    /// `now`: the slot's view; updated to its final state, even after an error.
    fn resolve_locked(
        &self,
        space: &SpaceBody<'m, M>,
        slot: &Slot,
        page: VirtualPage,
        access: Rights,
        now: &mut Mapped,
    ) -> Result<Step, FaultError> {
        let entry = self.translation(space, page, now.users);
        if entry.is_some() {
            // This CPU's TLB may have the entry with fewer rights.
            self.machine()
                .flush(self.number, &Flush { space: space.id, pages: PageRange::of(page), frees_tables: false });
        }
        if entry.is_some_and(|entry| entry.rights.allows(access)) {
            self.count(Event::Spurious);
            return Ok(Step::Done);
        }
        match (now.content, slot.mapping().is_null()) {
            (Content::Nothing, true) => self.zero_fill(space, page, now)?,
            (Content::Nothing | Content::Kept(_), _) => {
                return self.resolve_object(space, slot, page, access, now);
            }
            (Content::Page(held), _) => return self.resolve_private(space, page, access, held, now),
            (Content::Swapped(swapped), _) => {
                let home = Home::Family(space.family.as_ptr());
                let (new, page_in) = self.page_from_swap(home, page.0, swapped)?;
                now.content = Content::Page(new);
                return Ok(Step::Begin(page_in));
            }
        }
        Ok(Step::Done)
    }

    fn resolve_object(
        &self,
        space: &SpaceBody<'m, M>,
        slot: &Slot,
        page: VirtualPage,
        access: Rights,
        now: &mut Mapped,
    ) -> Result<Step, FaultError> {
        // SAFETY: the slot is locked, and an owner of the mapping; the reference does not release
        // it.
        let mapping = core::mem::ManuallyDrop::new(unsafe { Counted::from_raw(slot.mapping()) });
        let (object, index) = (&mapping.get().object, page.0.wrapping_add(mapping.get().shift));
        if let Backing::Device(first) = object.get().backing() {
            if index >= object.get().pages() {
                return Err(FaultError::BeyondObject);
            }
            self.enter_frame(space, page, FrameNumber(first.0 + index), now.rights, now)?;
            return Ok(Step::Done);
        }
        let held = match self.object_page(object, index)? {
            Sought::Page(held) => held,
            Sought::Again => return Ok(Step::Again),
            Sought::Wait(page) => return Ok(Step::Wait(page)),
            Sought::Begin(page_in) => return Ok(Step::Begin(page_in)),
        };
        if !access.allows(Rights::WRITE) {
            self.map_around(space, &mapping, page);
        }
        if !now.copies {
            self.enter(space, page, held, now.rights, now)?;
        } else if access.allows(Rights::WRITE) {
            // The object's page stays in place while the slot is locked.
            self.copy(space, page, held, now)?;
        } else {
            self.enter(space, page, held, now.rights.without(Rights::WRITE), now)?;
        }
        Ok(Step::Done)
    }

    /// Maps resident neighbours of an object page that is read, if their slots are free and have
    /// the same mapping. The page's own slot is locked.
    #[inline(never)]
    fn map_around(&self, space: &SpaceBody<'m, M>, mapping: &Counted<Mapping>, page: VirtualPage) {
        // SAFETY: 1. The page's slot is locked, and in a leaf. 2. The CPU is pinned.
        let (slots, first) = self.pinned(|| unsafe { space.tree.leaf_of(page.0) });
        let begin = page.0 - page.0 % AROUND;
        for (slot, page) in slots.iter().zip(first..).filter(|(_, near)| (begin..begin + AROUND).contains(near)) {
            let seen = slot.load();
            let View::Mapped(mapped) = seen.view() else { continue };
            // Skips: the page's own slot, which is locked; guards; locked memory, which must also
            // be wired; pages in use by another CPU, since a guess is not worth a shoot-down.
            if mapped.is_entered()
                || mapped.marks != Marks::NONE
                || mapped.content != Content::Nothing
                || seen.is_locked()
                || !slot.try_lock(seen)
            {
                continue;
            }
            let mut now = mapped;
            if ptr::eq(slot.mapping(), mapping.as_ptr()) {
                self.enter_resident(space, mapping.get(), VirtualPage(page), &mut now);
            }
            slot.unlock_as(View::Mapped(now));
        }
    }

    /// Enters a page if its object has it. Its slot is locked.
    fn enter_resident(&self, space: &SpaceBody<'m, M>, mapping: &Mapping, page: VirtualPage, now: &mut Mapped) {
        let rights = if now.copies { now.rights.without(Rights::WRITE) } else { now.rights };
        if rights == Rights::NONE {
            return;
        }
        if let Some(held) = self.resident_page(&mapping.object, page.0.wrapping_add(mapping.shift))
            && self.enter(space, page, held, rights, now).is_ok()
        {
            self.count(Event::MappedAround);
        }
    }

    fn zero_fill(&self, space: &SpaceBody<'m, M>, page: VirtualPage, now: &mut Mapped) -> Result<(), NoMemory> {
        let (new, zeroed) = self.claim(Home::Family(space.family.as_ptr()), page.0)?;
        if !zeroed {
            self.machine().zero(self.frame(new));
        }
        self.let_go(new, PageStep::Filled);
        self.enter(space, page, new, now.rights, now).inspect_err(|_| self.release_now(new))?;
        self.count(Event::ZeroFill);
        now.content = Content::Page(new);
        Ok(())
    }

    fn resolve_private(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        access: Rights,
        held: u32,
        now: &mut Mapped,
    ) -> Result<Step, FaultError> {
        let record = self.record(held);
        let state = record.word.state();
        if state.is_busy() {
            return Ok(match Sought::held(held, state) {
                Sought::Wait(page) => Step::Wait(page),
                _ => Step::Again,
            });
        }
        if state.is_failed() {
            let is_told = !record.is_ahead();
            self.put_back(held, now);
            // A failed read-ahead is not reported.
            return if is_told { Err(FaultError::Failed) } else { Ok(Step::Again) };
        }
        let is_write = access.allows(Rights::WRITE);
        if is_write {
            now.marks = now.marks.without(Marks::GIVEN_UP);
        }
        if !now.shared || state.owners() == 1 {
            self.write_in_place(space, page, held, is_write, now)?;
        } else if is_write {
            self.copy(space, page, held, now)?;
            self.release_now(held);
        } else {
            self.enter(space, page, held, now.rights.without(Rights::WRITE), now)?;
        }
        Ok(Step::Done)
    }

    /// Contents that could not be read stay in the swap area.
    pub(crate) fn put_back(&self, held: u32, now: &mut Mapped) {
        let Some(swapped) = self.record(held).swap() else { return };
        self.share_swap(swapped);
        now.content = Content::Swapped(swapped);
        self.release_now(held);
    }

    /// Gives a page owned only by this slot all rights of the mapping.
    fn write_in_place(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        held: u32,
        is_write: bool,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        let record = self.record(held);
        let mut rights = now.rights;
        if let Some(swapped) = record.swap() {
            if is_write {
                // A CPU that makes the page busy from now on waits for this slot before it looks
                // for a swap copy.
                record.set_swap(None);
                self.release_swap(swapped);
            } else {
                rights = rights.without(Rights::WRITE);
            }
        }
        if now.marks.has(Marks::GIVEN_UP) {
            rights = rights.without(Rights::WRITE);
        }
        self.enter(space, page, held, rights, now)?;
        if now.shared {
            now.shared = false;
            self.count(Event::TakenOver);
        }
        Ok(())
    }

    /// Copies a page and enters the copy in its place. The original keeps its previous owner.
    #[inline(never)]
    fn copy(&self, space: &SpaceBody<'m, M>, page: VirtualPage, held: u32, now: &mut Mapped) -> Result<(), NoMemory> {
        let (new, _) = self.claim(Home::Family(space.family.as_ptr()), page.0)?;
        self.machine().copy(self.frame(held), self.frame(new));
        self.let_go(new, PageStep::Filled);
        if now.is_entered() {
            // Other threads must not read the old page when this one writes the new one.
            let mut batch = Batch::new(self, space);
            batch.remove(page.0, *now, page.0 + 1);
            batch.finish();
            *now = now.untranslated();
        }
        self.enter(space, page, new, now.rights, now).inspect_err(|_| self.release_now(new))?;
        self.count(Event::Copy);
        self.unwire(now);
        (now.content, now.shared) = (Content::Page(new), false);
        Ok(())
    }

    /// Makes the page-table entry.
    #[inline(always)]
    fn enter(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        held: u32,
        rights: Rights,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        self.enter_frame(space, page, self.frame(held), rights, now)
    }

    #[inline(always)]
    fn enter_frame(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        now: &mut Mapped,
    ) -> Result<(), NoMemory> {
        if now.large {
            self.divide(space, page, now.users);
            now.large = false;
        }
        self.enter_translation(space, page, frame, rights, &mut now.users)
    }

    /// Frees unused new tables. Rarely needed, and a batch is large.
    #[inline]
    pub(crate) fn ask_and_free_tables(&self, space: &SpaceBody<'m, M>, tables: <M::Pmap as Pmap>::Retired) {
        if !M::Pmap::is_empty(&tables) {
            self.free_some_tables(space, tables);
        }
    }

    #[cold]
    fn free_some_tables(&self, space: &SpaceBody<'m, M>, tables: <M::Pmap as Pmap>::Retired) {
        let mut batch = Batch::new(self, space);
        batch.retire_tables(tables);
        batch.finish();
    }

    #[inline]
    pub(crate) fn pinned<R>(&self, act: impl FnOnce() -> R) -> R {
        let _pinned = self.pin();
        act()
    }
}
