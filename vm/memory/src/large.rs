//! Large pages: fills all pages of an aligned range of private memory with zeroes at once, in
//! contiguous frames, translated by one large page-table entry.
//!
//! Only that entry is large. Each page has its own state, record and slot, as if its own fault had
//! made it: forks, copies, the page daemon, wires and moves need no special case. Changing the
//! translation of a part first divides the entry, which needs no memory (`Pmap::divide`); changing
//! all of it changes the entry (`Batch::remove`, `Batch::protect`).

use crate::address::{PageRange, Rights, VirtualPage};
use crate::counters::Event;
use crate::cpu_set::Users;
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine, Pmap, Translation};
use crate::memory::Cpu;
use crate::page_record::Home;
use crate::page_word::PageStep;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Slot, SlotWord, View};
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use faultline_frames::ZeroedFrame;

/// The common mapping of a range of untouched private memory. Slots are shown to it one by one.
#[derive(Debug, Default)]
struct Untouched(Option<SlotWord>);

/// The range is not uniform untouched private memory.
struct Other;

impl Untouched {
    fn see(&mut self, slot: &Slot) -> Result<(), Other> {
        let word = slot.load().unlocked();
        // The mapping is only a guess where the slot is not locked.
        if word == *self.0.get_or_insert(word) && slot.mapping().is_null() { Ok(()) } else { Err(Other) }
    }

    /// The common mapping. Memory that is not writable, grows, is guarded or is locked gets single
    /// pages.
    fn mapped(self) -> Option<Mapped> {
        match self.0?.view() {
            View::Mapped(mapped) if mapped == Mapped::untouched(mapped.rights) && mapped.allows(Rights::WRITE) => {
                Some(mapped)
            }
            _ => None,
        }
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Enables or disables large pages for faults in a space; enabled by default. Children inherit
    /// the setting.
    pub fn set_large_pages(&self, space: &Space<'m, M>, are_made: bool) {
        // Relaxed: no other data depends on it.
        space.body().makes_large.store(are_made, Relaxed);
    }

    /// For a write to an untouched page: makes its large page, if the whole range has one mapping
    /// and is untouched, and frames are available. True if it did. No slot is locked.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill_large(&self, space: &SpaceBody<'m, M>, page: VirtualPage) -> bool {
        let range = PageRange::large_with(page, M::Pmap::LARGE_PAGES);
        // Relaxed: no other data depends on it. Looks at everything without a lock first, to not
        // disturb neighbours' slots.
        if !space.makes_large.load(Relaxed) || !space.pages.contains(range) || !self.seems_untouched(space, range) {
            return false;
        }
        let Some(first) = self.frames.get_large(range.pages()) else { return false };
        let Ok(pages) = self.claim_large(space, range, &first) else { return false };
        let made = self.lock_alone(space, range).is_ok_and(|lock| {
            let made = self.enter_untouched(space, &lock, &pages);
            self.unlock(space, lock);
            made
        });
        if !made {
            pages.for_each(|page| self.release_now(page));
        }
        made
    }

    fn seems_untouched(&self, space: &SpaceBody<'m, M>, range: PageRange) -> bool {
        let mut untouched = Untouched::default();
        // SAFETY: the guard is held, and the space is active; words are only read.
        let alike = self.pinned(|| unsafe { space.tree.visit(range, &mut |slot, _, _| untouched.see(slot)) });
        alike.is_ok() && untouched.mapped().is_some()
    }

    /// Zeroed pages in contiguous frames: busy, so that the page daemon leaves them until they are
    /// in their slots.
    fn claim_large(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        first: &ZeroedFrame,
    ) -> Result<Range<u32>, NoMemory> {
        let page = self.index(first.number)?;
        let pages = page..page.saturating_add(range.pages() as u32);
        for (page, place) in pages.clone().zip(range.begin()..) {
            // After an error the frames before it go back, and the others are lost: the source is
            // not to be trusted.
            self.claim_given(page, Home::Family(space.family.as_ptr()), place)
                .inspect_err(|_| (pages.start..page).for_each(|page| self.release_now(page)))?;
            if !first.zeroed {
                self.machine().zero(self.frame(page));
            }
        }
        Ok(pages)
    }

    /// Puts pages into a locked range if it is untouched. False if it is not, or memory ran out;
    /// then nothing changes.
    fn enter_untouched(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>, pages: &Range<u32>) -> bool {
        let mut untouched = Untouched::default();
        let alike = lock.visit(|slot, _, _| untouched.see(slot));
        let Some(mapped) = untouched.mapped().filter(|_| alike.is_ok() && lock.split_to_leaves().is_ok()) else {
            return false;
        };
        let (first, frame, mut tables) = (lock.range().first(), self.frame(pages.start), Default::default());
        let entered = self.with_tables(space, |pmap| pmap.enter_large(first, frame, mapped.rights, &mut tables));
        let entered = matches!(entered, Some(Ok(())));
        self.ask_and_free_tables(space, tables);
        if entered {
            lock.each(|slot, begin, _| {
                let page = pages.start + (begin - lock.range().begin()) as u32;
                self.let_go(page, PageStep::Filled);
                let content = Content::Page(page);
                slot.set(View::Mapped(Mapped {
                    users: mapped.users.with(self.number),
                    large: true,
                    content,
                    ..mapped
                }));
            });
            self.count(Event::LargeFill);
            self.add(Event::ZeroFill, lock.range().pages());
        }
        entered
    }

    /// Divides the large entry of a page, if it still is in one. The page's slot is locked.
    #[cold]
    pub(crate) fn divide(&self, space: &SpaceBody<'m, M>, page: VirtualPage, users: Users) {
        self.each_tables(space, users, |pmap, _| {
            if pmap.divide(page) {
                self.count(Event::Divided);
            }
        });
    }

    /// Accessed and dirty bits of a page's large entry since the last call, if it still is in one.
    /// If the entry was used, all its other pages are marked as used, so that each has its second
    /// chance. The dirty bit is returned for this page alone: for private pages it is not needed.
    pub(crate) fn harvest_large(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
    ) -> Option<Translation> {
        // Page tables of one CPU at most have it: another CPU that uses a page of it divides it
        // first.
        let mut found = None;
        self.each_tables(space, users, |pmap, _| found = found.or_else(|| pmap.harvest_large(page)));
        let found = found?;
        if found.accessed {
            let (Ok(own), pages) = (self.index(found.frame), M::Pmap::LARGE_PAGES as u32) else { return Some(found) };
            let first = own - page.0 as u32 % pages;
            // Marking a page that has left the range meanwhile does no harm.
            for page in (first..first + pages).filter(|page| *page != own) {
                let _ = self.word(page).step(PageStep::Referenced);
            }
        }
        Some(found)
    }
}
