//! The end of a transfer: pages read become valid or failed; pages written become clean or stay
//! dirty, and the page daemon's frames are freed.

use crate::broken::Broken;
use crate::counters::Event;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::pager::{HeldHome, Hold, Pages, Then, Transfer};
use crate::object::{Leaf, Object};
use crate::page_record::Home;
use crate::page_word::{PageStep, Queue};

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Ends a transfer: its first `pages` pages were transferred, the others failed. Call on any
    /// CPU of its memory. A transfer of another memory is dropped and never ends.
    pub fn finish(&self, transfer: Transfer, pages: usize) {
        if transfer.memory != self.memory.identity() {
            return self.broken(Broken::OtherMemory);
        }
        match transfer.pages {
            Pages::Read(read, count) => {
                for (number, page) in read.into_iter().take(count).enumerate() {
                    self.finish_read(page, number < pages);
                }
            }
            Pages::Written(holds, then) => {
                for (number, hold) in holds.into_iter().flatten().enumerate() {
                    let slot = transfer.swap.map(|first| first + number as u32);
                    self.finish_write(hold, slot, then, number < pages);
                }
            }
        }
    }

    fn finish_read(&self, page: u32, is_read: bool) {
        let record = self.record(page);
        if !is_read {
            self.count(Event::FailedPageIn);
            self.let_go(page, PageStep::Failed);
        } else {
            // A private page keeps its swap copy until the first write. Object pages do not: their
            // first write is not seen.
            if let (Home::Object(_), _) = record.home()
                && let Some(slot) = record.swap()
            {
                record.set_swap(None);
                self.release_swap(slot);
            }
            self.let_go(page, PageStep::Filled);
        }
        self.machine().wake(page);
    }

    /// `slot`: the swap slot, which has the contents if they were written; this call owns it.
    fn finish_write(&self, hold: Hold, slot: Option<u32>, then: Then, is_written: bool) {
        if is_written {
            self.count(Event::PageOut);
            self.expect_step(hold.page, PageStep::Cleaned);
            if then == Then::Reclaim {
                self.detach(&hold, slot);
            }
        } else {
            self.count(Event::FailedPageOut);
            self.expect_step(hold.page, PageStep::Dirty);
            // Other pages come first; the page daemon returns to this one.
            let _ = self.word(hold.page).step(PageStep::Move(Queue::Active));
            if let HeldHome::Object(object) = &hold.home {
                object.get().set_failed();
            }
        }
        if let Some(slot) = slot {
            self.release_swap(slot);
        }
        self.drop_hold(hold);
    }

    /// Takes a clean page, which is held and translated nowhere, away from its owners. `slot`: the
    /// swap slot with its contents.
    pub(crate) fn detach(&self, hold: &Hold, slot: Option<u32>) {
        match &hold.home {
            HeldHome::Object(object) => self.detach_from_object(object.get(), hold, slot),
            HeldHome::Family(_) => {
                if let Some(slot) = slot {
                    self.swap_out(hold, slot);
                }
            }
        }
    }

    /// A wired page stays: it was wired after it was held for a cluster, and before its
    /// translations were removed.
    fn detach_from_object(&self, object: &Object, hold: &Hold, slot: Option<u32>) {
        if self.word(hold.page).state().wired() > 0 {
            return;
        }
        let left = slot.map_or(Leaf::Nothing, Leaf::Swapped);
        if object.replace(hold.place, Leaf::Page(hold.page), left) != Ok(Ok(())) {
            return;
        }
        if let Some(slot) = slot {
            self.share_swap(slot);
        }
        // The holder is an owner too.
        self.release_now(hold.page);
    }

    /// Ends exclusive use of a held page, and releases its home.
    pub(crate) fn drop_hold(&self, hold: Hold) {
        self.let_go(hold.page, PageStep::Unbusy);
        self.machine().wake(hold.page);
        match hold.home {
            HeldHome::Object(object) => self.release_object(object),
            HeldHome::Family(family) => drop(family.release(1)),
        }
    }
}
