//! Contents that are not there yet: an object's page is found, made of zeroes, or read; a private page is read from the swap area.

use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::error::{FaultError, NoMemory};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::pager::{Pager, Pages, Started, Transfer};
use crate::object::{Backing, Leaf, Object};
use crate::page_record::Home;
use crate::page_word::{PageState, PageStep};
use alloc::sync::Arc;

/// A read that is prepared, and begun when no slot is locked.
#[derive(Debug)]
pub(crate) struct PageIn {
    page: u32,
    from: From,
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
    Pager(Arc<dyn Pager>, u64),
}

/// What was found of a page.
#[derive(Debug)]
pub(crate) enum Sought {
    /// It is there. It stays there while the caller holds the slot from which it was sought, and is the page of a device if that is
    /// its backing: see `reverse`.
    Page(u32),
    /// Another CPU holds it for some instructions: unlock, and try again.
    Again,
    /// It is being transferred: unlock, and wait.
    Wait(u32),
    /// Unlock, begin this, and try again.
    Begin(PageIn),
}

impl Sought {
    /// A page that somebody holds.
    pub(crate) fn held(page: u32, state: PageState) -> Self {
        if state.is_transferred() { Self::Wait(page) } else { Self::Again }
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// The page of an object.
    pub(crate) fn object_page(&self, object: &Counted<Object>, index: u64) -> Result<Sought, FaultError> {
        let (home, object) = (object.as_ptr(), object.get());
        if index >= object.pages() {
            return Err(FaultError::BeyondObject);
        }
        loop {
            let found = object.look(index);
            let Leaf::Page(page) = found else { return self.make_page(home, index, found) };
            let record = self.record(page);
            let state = record.word.state();
            if state.is_busy() {
                return Ok(Sought::held(page, state));
            }
            if state.is_failed() && self.withdraw(home, index, page) {
                return Err(FaultError::Failed);
            }
            // After the state, which orders it: a frame that was taken out of this place may be another's page already.
            if state.is_valid() && record.home() == (Home::Object(home), index) {
                self.count(Event::ObjectHit);
                return Ok(Sought::Page(page));
            }
        }
    }

    /// The page of an object, if it is there and nobody holds it. The caller has locked a slot from which it is sought.
    pub(crate) fn resident_page(&self, object: &Counted<Object>, index: u64) -> Option<u32> {
        let page = object.get().page(index).filter(|_| index < object.get().pages())?;
        let record = self.record(page);
        let state = record.word.state();
        // In this order: as in `object_page`.
        let is_its = || record.home() == (Home::Object(object.as_ptr()), index);
        (state.is_valid() && !state.is_busy() && is_its()).then_some(page)
    }

    /// Makes a page in a place that held `found`.
    fn make_page(&self, home: *const Inner<Object>, index: u64, found: Leaf) -> Result<Sought, FaultError> {
        // SAFETY: the caller's object.
        let object = unsafe { (*home).value() };
        let from = match (found, object.backing()) {
            (Leaf::Swapped(slot), _) => Some(From::Swap(slot)),
            (_, Backing::Pager(pager)) => Some(From::Pager(pager.clone(), index)),
            _ => None,
        };
        let (page, zeroed) = self.claim(Home::Object(home), index)?;
        let published = object.publish(index, found, page);
        if !matches!(published, Ok(Ok(true))) {
            let withdrawn = published == Ok(Ok(false)) && object.replace(index, Leaf::Page(page), found) == Ok(Ok(()));
            debug_assert!(withdrawn || published != Ok(Ok(false)), "a busy page stays in its place");
            self.let_go(page, PageStep::Failed);
            self.release_now(page);
            return match published {
                Ok(Ok(_)) => Err(FaultError::BeyondObject),
                Ok(Err(_)) => Ok(Sought::Again),
                Err(NoMemory) => Err(FaultError::NoMemory),
            };
        }
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
                if let From::Swap(slot) = from {
                    self.record(page).set_swap(Some(slot));
                }
                // Not before: whoever finds a transfer waits until it ends, and one that is not begun would wake nobody.
                self.expect_step(page, PageStep::Transfer);
                Ok(Sought::Begin(PageIn { page, from }))
            }
        }
    }

    /// Takes a page out that could not be read. False if another CPU has done so: its frame may be another page's by now.
    pub(crate) fn withdraw(&self, home: *const Inner<Object>, index: u64, page: u32) -> bool {
        let record = self.record(page);
        let Ok(before) = record.word.step(PageStep::Busy) else { return false };
        let left = record.swap().map_or(Leaf::Nothing, Leaf::Swapped);
        // SAFETY: the caller's object.
        let object = unsafe { (*home).value() };
        // The home says nothing of a page that was made for this place in vain.
        let is_ours = before.is_failed()
            && record.home() == (Home::Object(home), index)
            && object.replace(index, Leaf::Page(page), left) == Ok(Ok(()));
        if is_ours {
            // Its share of the slot is the place's now.
            record.set_swap(None);
        }
        self.let_go(page, PageStep::Unbusy);
        if is_ours {
            self.release_now(page);
        }
        is_ours
    }

    /// A page for private contents that are in the swap area. It is busy; the caller's slot owns it, in place of its share of the
    /// area's slot, which the page has.
    pub(crate) fn page_from_swap(&self, home: Home, place: u64, slot: u32) -> Result<(u32, PageIn), NoMemory> {
        let (page, _) = self.claim(home, place)?;
        self.expect_step(page, PageStep::Transfer);
        self.record(page).set_swap(Some(slot));
        Ok((page, PageIn { page, from: From::Swap(slot) }))
    }

    /// Begins a read. Says whether it is over already.
    pub(crate) fn begin(&self, page_in: PageIn) -> bool {
        let PageIn { page, from } = page_in;
        let frames = [self.frame(page)];
        let transfer = |swap| Transfer { pages: Pages::Read(page), swap };
        let started = match &from {
            From::Swap(slot) => match self.swap() {
                Some(area) => area.pager.read((*slot).into(), &frames, transfer(Some(*slot))),
                None => Started::Done(transfer(Some(*slot)), 0),
            },
            From::Pager(pager, index) => pager.read(*index, &frames, transfer(None)),
        };
        self.count(Event::PageIn);
        match started {
            Started::Done(transfer, pages) => {
                self.finish(transfer, pages);
                true
            }
            Started::Later => false,
        }
    }
}
