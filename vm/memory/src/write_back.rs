//! Write-back: writes dirty pages of an object to its pager, in clusters of contiguous pages.
//!
//! A page is written while it is translated nowhere, so its contents do not change; a CPU that
//! needs it waits until it is written.

use crate::broken::Broken;
use crate::counted::Counted;
use crate::counters::Event;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::object::pager::{CLUSTER, HeldHome, Hold, Pager, Pages, Started, Then, Transfer};
use crate::object::{Backing, Leaf, Object};
use crate::page_word::{PageState, PageStep, Queue};
use crate::primitive::relax;
use crate::reclaim::is_candidate;
use crate::reverse::Shots;
use faultline_numbers::FrameNumber;

/// A started cluster.
pub(crate) struct Cluster {
    /// Number of pages.
    pub(crate) count: u64,
    /// One of the pages, if the transfer is in progress.
    pub(crate) waits: Option<u32>,
}

/// The page is held by another CPU, belongs to another place by now, or must stay.
struct NotHeld;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Writes dirty pages of an object to its pager, among `pages` pages from `first` on.
    /// [`SpaceError::Wait`]: transfers are in progress; call again after their end to learn whether
    /// everything was written. [`SpaceError::Failed`]: a write has failed since the last call for
    /// this object; the contents are still in memory, and dirty.
    pub fn write_back(&self, object: &MemoryObject<'m, M>, first: u64, pages: u64) -> Result<(), SpaceError> {
        if !core::ptr::eq(object.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        let object = &object.object;
        let (mut next, end) = (first, first.saturating_add(pages));
        let mut waits = None;
        if !matches!(object.get().backing(), Backing::Pager(_)) {
            return Ok(());
        }
        while let Some((index, leaf)) = object.get().next_held(next, end) {
            next = index + 1;
            let Leaf::Page(page) = leaf else { continue };
            let state = self.word(page).state();
            if state.is_transferred() {
                waits = Some(page);
            } else if state.is_busy() {
                // Another CPU holds it briefly.
                next = index;
                relax();
            } else if !state.is_failed() {
                match self.hold_dirty(object, index, page, Then::Keep) {
                    Ok(Some(hold)) => {
                        let cluster = self.write_cluster(hold, &mut Shots::none(), Then::Keep);
                        next = index + cluster.count;
                        waits = cluster.waits.or(waits);
                    }
                    Ok(None) => {}
                    // Another CPU was faster: look again.
                    Err(NotHeld) => next = index,
                }
            }
        }
        match waits {
            Some(page) => Err(SpaceError::Wait(page)),
            None if object.get().take_failed() => Err(SpaceError::Failed),
            None => Ok(()),
        }
    }

    /// Holds a page of an object if it is dirty, and for the page daemon if it may go. `None` if it
    /// is clean.
    fn hold_dirty(&self, object: &Counted<Object>, index: u64, page: u32, then: Then) -> Result<Option<Hold>, NotHeld> {
        let may_go = |state: PageState| is_candidate(state) && state.queue() != Queue::Active;
        let hold = self.hold(page, |state| then == Then::Keep || may_go(state)).ok_or(NotHeld)?;
        // It may have become another's page before it was held.
        let is_its = matches!(&hold.home, HeldHome::Object(home) if home.as_ptr() == object.as_ptr());
        if !is_its || hold.place != index {
            self.drop_hold(hold);
            return Err(NotHeld);
        }
        if self.harvest(&hold).dirty {
            self.expect_step(page, PageStep::Dirty);
        }
        if self.word(page).state().is_dirty() {
            return Ok(Some(hold));
        }
        self.drop_hold(hold);
        Ok(None)
    }

    /// Writes a held dirty page of an object with a pager, together with dirty pages that follow
    /// it.
    pub(crate) fn write_cluster(&self, first: Hold, shots: &mut Shots, then: Then) -> Cluster {
        let (page, place) = (first.page, first.place);
        let pager = match &first.home {
            HeldHome::Object(object) => match object.get().backing() {
                Backing::Pager(pager) => Some((object.another(), pager.clone())),
                Backing::Zeroes | Backing::Device(_) => None,
            },
            HeldHome::Family(_) => None,
        };
        let Some((object, pager)) = pager else {
            self.broken(Broken::NoPager(page));
            self.drop_hold(first);
            return Cluster { count: 0, waits: None };
        };
        let mut holds = [const { None }; CLUSTER];
        self.take_translations(&first, shots);
        holds[0] = Some(first);
        let mut count = 1;
        while count < CLUSTER
            && let Some(page) = object.get().page(place + count as u64)
            && let Ok(Some(hold)) = self.hold_dirty(&object, place + count as u64, page, then)
        {
            self.take_translations(&hold, shots);
            if let Some(place) = holds.get_mut(count) {
                *place = Some(hold);
            }
            count += 1;
        }
        self.fire(shots);
        let is_over = self.write(&*pager, place, holds, then, None);
        self.release_object(object);
        Cluster { count: count as u64, waits: (!is_over).then_some(page) }
    }

    /// Starts writing held pages. True if the write is already over.
    pub(crate) fn write(
        &self,
        pager: &dyn Pager,
        first: u64,
        holds: [Option<Hold>; CLUSTER],
        then: Then,
        swap: Option<u32>,
    ) -> bool {
        let mut frames = [FrameNumber(0); CLUSTER];
        let mut count = 0;
        for (frame, hold) in frames.iter_mut().zip(holds.iter().flatten()) {
            *frame = self.frame(hold.page);
            count += 1;
        }
        self.count(Event::WriteCluster);
        match pager.write(
            first,
            frames.get(..count).unwrap_or(&[]),
            Transfer { pages: Pages::Written(holds, then), swap, memory: self.memory.identity() },
        ) {
            Started::Done(transfer, pages) => {
                self.finish(transfer, pages);
                true
            }
            Started::Later => false,
        }
    }
}
