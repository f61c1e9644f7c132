//! Large pages: all pages of an aligned range of private memory are made of zeroes at once, in frames that follow each other, and one large
//! page-table entry translates them.
//!
//! Large is only that entry. Each page has a state, a record and a slot of its own, as if a fault of its own had made it: so forks, copies,
//! the page daemon, wires and moves know nothing of large pages. Who changes the translation of a part divides the entry first, which needs
//! no memory (`Pmap::divide`); who changes that of all of it changes the entry (`Batch::remove`, `Batch::protect`).

use crate::address::{PageRange, Rights, VirtualPage};
use crate::counters::Event;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::page_record::Home;
use crate::page_word::PageStep;
use crate::pmap::{Pmap, Translation};
use crate::range_lock::RangeLock;
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Slot, SlotWord, View};
use crate::users::Users;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use faultline_frames::ZeroedFrame;

/// What a range is mapped to, if all of it is private memory alike, with nothing there yet. Slots are shown to it one by one.
#[derive(Debug, Default)]
struct Untouched(Option<SlotWord>);

/// A range is not of this kind.
struct Other;

impl Untouched {
    fn see(&mut self, slot: &Slot) -> Result<(), Other> {
        let word = slot.load().unlocked();
        // The mapping is only a guess where the slot is not locked.
        if word == *self.0.get_or_insert(word) && slot.mapping().is_null() { Ok(()) } else { Err(Other) }
    }

    /// What all of it is mapped to. What cannot be written, grows, is guarded or locked is made page by page.
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
    /// Says whether faults make large pages in a space: true if it is not said. Children do as their parents.
    pub fn set_large_pages(&self, space: &Space<'m, M>, are_made: bool) {
        // Relaxed: no other data depends on it.
        space.body().makes_large.store(are_made, Relaxed);
    }

    /// For a write at a page where nothing is yet: makes the large page that has it, if all of its range is mapped alike and untouched, and
    /// frames are at hand. Says whether it is there. No slot is locked.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill_large(&self, space: &SpaceBody<'m, M>, page: VirtualPage) -> bool {
        let range = PageRange::large_with(page, M::Pmap::LARGE_PAGES);
        // Relaxed: no other data depends on it. All is looked at without a lock first: a neighbour's slots are not to be disturbed.
        if !space.makes_large.load(Relaxed) || !self.seems_untouched(space, range) {
            return false;
        }
        let Some(first) = self.frames.get_large(range.pages()) else { return false };
        let pages = self.claim_large(space, range, &first);
        let made = self.lock(space, range).is_ok_and(|lock| self.enter_untouched(space, &lock, &pages));
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

    /// Pages of zeroes, in frames that follow each other: busy, so that the page daemon leaves them until they are in their slots.
    fn claim_large(&self, space: &SpaceBody<'m, M>, range: PageRange, first: &ZeroedFrame) -> Range<u32> {
        let page = self.index(first.number);
        let pages = page..page + range.pages() as u32;
        for (page, place) in pages.clone().zip(range.begin()..) {
            self.claim_given(page, Home::Family(space.family.as_ptr()), place);
            if !first.zeroed {
                self.machine().zero(self.frame(page));
            }
        }
        pages
    }

    /// Puts pages into a locked range, if it is untouched. False if it is not, or there is no memory; then nothing is there.
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

    /// Divides the large entry that a page is in, if it still is in one. The page's slot is locked.
    #[cold]
    pub(crate) fn divide(&self, space: &SpaceBody<'m, M>, page: VirtualPage, users: Users) {
        self.each_tables(space, users, |pmap, _| {
            if pmap.divide(page) {
                self.count(Event::Divided);
            }
        });
    }

    /// What the large entry that a page is in said since the last time, if it still is in one. If it was used, so were all its pages, as far as
    /// is known: that is noted of the others, so that each has its second chance. That it was written is told of this page alone: of private pages
    /// nobody asks it.
    pub(crate) fn harvest_large(
        &self,
        space: &SpaceBody<'m, M>,
        page: VirtualPage,
        users: Users,
    ) -> Option<Translation> {
        // Page tables of one CPU at most have it: another CPU that uses a page of it divides it first.
        let mut found = None;
        self.each_tables(space, users, |pmap, _| found = found.or_else(|| pmap.harvest_large(page)));
        let found = found?;
        if found.accessed {
            let (own, pages) = (self.index(found.frame), M::Pmap::LARGE_PAGES as u32);
            let first = own - page.0 as u32 % pages;
            // A page that has left the range meanwhile is noted in vain: that is all.
            for page in (first..first + pages).filter(|page| *page != own) {
                let _ = self.word(page).step(PageStep::Referenced);
            }
        }
        Some(found)
    }
}
