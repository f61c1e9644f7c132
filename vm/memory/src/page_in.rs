//! Missing contents: finds, zero-fills or reads an object's page; reads a private page from the
//! swap area. Pages that follow in both places are read along with it.

use crate::broken::Broken;
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::{FaultError, NoMemory};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::pager::{CLUSTER, Pager, Pages, Started, Transfer};
use crate::object::{Backing, Leaf, Object};
use crate::page_record::Home;
use crate::page_word::{PageState, PageStep};
use crate::primitive::relax;
use crate::space::SpaceBody;
use crate::tree::slot::{Content, Mapped, View};
use alloc::sync::Arc;
use faultline_numbers::FrameNumber;

/// Number of pages that a fault reads at once when frames are plentiful.
pub(crate) const READ_AHEAD: usize = 8;

/// A prepared read, started when no slot is locked.
#[derive(Debug)]
pub(crate) struct PageIn {
    page: u32,
    from: From,
    place: PageLocation,
}

impl PageIn {
    /// The page that is read.
    pub(crate) fn page(&self) -> u32 {
        self.page
    }
}

#[derive(Debug)]
enum From {
    /// A slot of the swap area.
    Swap(u32),
    /// A pager, at the page's place in the object.
    Pager(Arc<dyn Pager>),
}

/// Location of a page and of those behind it, which are read with it.
#[derive(Debug)]
enum PageLocation {
    /// In an object.
    Object(Counted<Object>, u64),
    /// At a page of a space.
    Space(u64),
}

/// Result of looking for a page.
#[derive(Debug)]
pub(crate) enum Sought {
    /// Resident. It stays while the caller holds the slot of the lookup. A device's page if that is
    /// its backing: see `reverse`.
    Page(u32),
    /// Another CPU holds it briefly: unlock and retry.
    Again,
    /// Being transferred: unlock and wait.
    Wait(u32),
    /// Unlock, start this read, retry.
    Begin(PageIn),
}

impl Sought {
    /// A page held by another CPU.
    pub(crate) fn held(page: u32, state: PageState) -> Self {
        if state.is_transferred() { Self::Wait(page) } else { Self::Again }
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// The page of an object.
    pub(crate) fn object_page(&self, object: &Counted<Object>, index: u64) -> Result<Sought, FaultError> {
        let (counted, object) = (object, object.get());
        if index >= object.pages() {
            return Err(FaultError::BeyondObject);
        }
        loop {
            let found = object.look(index);
            let Leaf::Page(page) = found else { return self.make_page(counted, index, found) };
            let record = self.record(page);
            let state = record.word.state();
            if state.is_busy() {
                return Ok(Sought::held(page, state));
            }
            if state.is_failed() {
                // A failed read-ahead is not reported.
                let is_told = !record.is_ahead();
                if self.withdraw(counted.as_ptr(), index, page) && is_told {
                    return Err(FaultError::Failed);
                }
            }
            // After the state, which orders it: a frame taken out of this place may already be
            // another's page.
            if state.is_valid() && record.home() == (Home::Object(counted.as_ptr()), index) {
                self.count(Event::ObjectHit);
                return Ok(Sought::Page(page));
            }
            // Another CPU has just taken it out, and this one is about to see that.
            relax();
        }
    }

    /// A resident, not busy page of an object. The caller has locked the slot of the lookup.
    pub(crate) fn resident_page(&self, object: &Counted<Object>, index: u64) -> Option<u32> {
        let page = object.get().page(index).filter(|_| index < object.get().pages())?;
        let record = self.record(page);
        let state = record.word.state();
        // In this order: as in `object_page`.
        let is_its = || record.home() == (Home::Object(object.as_ptr()), index);
        (state.is_valid() && !state.is_busy() && is_its()).then_some(page)
    }

    /// Makes a page in a place that held `found`.
    fn make_page(&self, object: &Counted<Object>, index: u64, found: Leaf) -> Result<Sought, FaultError> {
        let from = match (found, object.get().backing()) {
            (Leaf::Swapped(slot), _) => Some(From::Swap(slot)),
            (_, Backing::Pager(pager)) => Some(From::Pager(pager.clone())),
            _ => None,
        };
        let (page, zeroed) = match self.claim_place(object, index, found, from.is_some())? {
            Ok(claimed) => claimed,
            Err(sought) => return Ok(sought),
        };
        match from {
            None => {
                if !zeroed {
                    self.machine().zero(self.frame(page));
                }
                self.let_go(page, PageStep::Filled);
                self.count(Event::ObjectFill);
                Ok(Sought::Page(page))
            }
            Some(from) => {
                Ok(Sought::Begin(PageIn { page, from, place: PageLocation::Object(object.another(), index) }))
            }
        }
    }

    /// Publishes a busy page in a place with contents `found`. Returns whether it is zeroed, or
    /// what else to do.
    fn claim_place(
        &self,
        object: &Counted<Object>,
        index: u64,
        found: Leaf,
        is_read: bool,
    ) -> Result<Result<(u32, bool), Sought>, FaultError> {
        let (page, zeroed) = self.claim(Home::Object(object.as_ptr()), index)?;
        self.record(page).set_ahead(false);
        let object = object.get();
        let published = object.publish(index, found, page);
        if !matches!(published, Ok(Ok(true))) {
            let withdrawn = published == Ok(Ok(false)) && object.replace(index, Leaf::Page(page), found) == Ok(Ok(()));
            if !withdrawn && published == Ok(Ok(false)) {
                self.broken(Broken::Place(page));
            }
            self.let_go(page, PageStep::Failed);
            self.release_now(page);
            return match published {
                Ok(Ok(_)) => Err(FaultError::BeyondObject),
                Ok(Err(_)) => Ok(Err(Sought::Again)),
                Err(NoMemory) => Err(FaultError::NoMemory),
            };
        }
        if let Leaf::Swapped(slot) = found {
            self.record(page).set_swap(Some(slot));
        }
        if is_read {
            // Not before: a CPU that finds a transfer waits for its end, and one that was not
            // started wakes no CPU.
            self.expect_step(page, PageStep::Transfer);
        }
        Ok(Ok((page, zeroed)))
    }

    /// Takes out a page that could not be read. False if another CPU has done so: its frame may be
    /// another's page by now.
    pub(crate) fn withdraw(&self, home: *const Inner<Object>, index: u64, page: u32) -> bool {
        let record = self.record(page);
        let Ok(before) = record.word.step(PageStep::Busy) else { return false };
        let left = record.swap().map_or(Leaf::Nothing, Leaf::Swapped);
        // SAFETY: the caller's object.
        let object = unsafe { (*home).value() };
        // The home says nothing about a page made for this place in vain.
        let is_ours = before.is_failed()
            && record.home() == (Home::Object(home), index)
            && object.replace(index, Leaf::Page(page), left) == Ok(Ok(()));
        if is_ours {
            // The place now has its share of the slot.
            record.set_swap(None);
        }
        self.let_go(page, PageStep::Unbusy);
        if is_ours {
            self.release_now(page);
        }
        is_ours
    }

    /// A busy page for private contents in the swap area. The caller's slot owns it, in place of
    /// its share of the swap slot, which the page gets.
    pub(crate) fn page_from_swap(&self, home: Home, place: u64, slot: u32) -> Result<(u32, PageIn), NoMemory> {
        let (page, _) = self.claim(home, place)?;
        self.expect_step(page, PageStep::Transfer);
        self.record(page).set_swap(Some(slot));
        self.record(page).set_ahead(false);
        Ok((page, PageIn { page, from: From::Swap(slot), place: PageLocation::Space(place) }))
    }

    /// Number of pages that a fault reads at once now.
    pub(crate) fn read_ahead(&self) -> usize {
        if self.frames.has_plenty() { READ_AHEAD } else { 1 }
    }

    /// Starts a read, and with it that of pages behind it: at most `most` in all, as long as they
    /// are contiguous in memory and in the store. True if it is already over. No slot is locked.
    #[inline(never)]
    pub(crate) fn begin(&self, space: &SpaceBody<'m, M>, page_in: PageIn, most: usize) -> bool {
        let (mut pages, mut frames, mut count) = ([0; CLUSTER], [FrameNumber(0); CLUSTER], 0);
        let mut next = Some(page_in.page);
        while let Some(page) = next {
            if let (Some(place), Some(frame)) = (pages.get_mut(count), frames.get_mut(count)) {
                (*place, *frame) = (page, self.frame(page));
                count += 1;
            }
            next = if count < most.min(CLUSTER) { self.page_behind(space, &page_in, count as u32) } else { None };
        }
        let transfer = |swap| Transfer { pages: Pages::Read(pages, count), swap, memory: self.memory.identity() };
        let frames = frames.get(..count).unwrap_or(&[]);
        let started = match (&page_in.from, &page_in.place, self.swap()) {
            (From::Swap(slot), _, Some(area)) => area.pager.read((*slot).into(), frames, transfer(Some(*slot))),
            (From::Pager(pager), PageLocation::Object(_, index), _) => pager.read(*index, frames, transfer(None)),
            _ => Started::Done(transfer(None), 0),
        };
        self.count(Event::ReadCluster);
        self.add(Event::PageIn, count as u64);
        self.add(Event::ReadAhead, count as u64 - 1);
        if let PageLocation::Object(object, _) = page_in.place {
            self.release_object(object);
        }
        match started {
            Started::Done(transfer, pages) => {
                self.finish(transfer, pages);
                true
            }
            Started::Later => false,
        }
    }

    /// A page for the contents `distance` behind a page that is read, if they are contiguous in the
    /// store.
    fn page_behind(&self, space: &SpaceBody<'m, M>, page_in: &PageIn, distance: u32) -> Option<u32> {
        let page = match (&page_in.place, &page_in.from) {
            (PageLocation::Object(object, index), from) => {
                let index = index + u64::from(distance);
                let expected = match from {
                    From::Swap(slot) => Leaf::Swapped(slot + distance),
                    From::Pager(_) => Leaf::Nothing,
                };
                if index >= object.get().pages() || object.get().look(index) != expected {
                    return None;
                }
                self.claim_place(object, index, expected, true).ok()?.ok()?.0
            }
            (PageLocation::Space(page), From::Swap(slot)) => {
                self.swapped_behind(space, page + u64::from(distance), slot + distance)?
            }
            (PageLocation::Space(_), From::Pager(_)) => return None,
        };
        self.record(page).set_ahead(true);
        Some(page)
    }

    /// A page for private contents of a space's page, if they are in this slot of the swap area.
    fn swapped_behind(&self, space: &SpaceBody<'m, M>, page: u64, swapped: u32) -> Option<u32> {
        if page >= space.pages.end() {
            return None;
        }
        // SAFETY: the guard is held, and the space is active.
        let slot = self.pinned(|| unsafe { space.tree.try_lock_covering(page) })?;
        let mut made = None;
        if let View::Mapped(mapped) = slot.load().view()
            && mapped.content == Content::Swapped(swapped)
            && let Ok((new, _)) = self.page_from_swap(Home::Family(space.family.as_ptr()), page, swapped)
        {
            slot.set(View::Mapped(Mapped { content: Content::Page(new), ..mapped }));
            made = Some(new);
        }
        slot.unlock();
        made
    }
}
