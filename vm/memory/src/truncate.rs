//! The length of an object changes.
//!
//! The new length is said first. Then pages beyond it are taken away one by one, whatever maps them. A fault that has found a page before it was
//! held has entered its translation by the time that its slot can be locked; one that comes later finds the length; and one that
//! publishes a page meanwhile either finds the length after that, and takes the page out again, or this finds the page.

use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::object::pager::HeldHome;
use crate::object::{Backing, Leaf};
use crate::primitive::relax;
use crate::reverse::Shots;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes an object shorter, or longer again: at most as long as it was made. What was beyond the end is gone, and so are its translations;
    /// private copies of such pages stay until they are unmapped. One CPU at a time changes the length of an object.
    ///
    /// [`SpaceError::Wait`]: the length has changed, and a page beyond it is being transferred. Called again with the same length, it goes on.
    pub fn truncate(&self, object: &MemoryObject<'m, M>, pages: u64) -> Result<(), SpaceError> {
        if !core::ptr::eq(object.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        let (home, object) = (object.object.as_ptr(), object.object.get());
        if matches!(object.backing(), Backing::Device(_)) {
            return Err(SpaceError::Device);
        }
        if pages > object.most_pages() {
            return Err(SpaceError::BeyondObject);
        }
        object.set_pages(pages);
        let mut shots = Shots::none();
        while let Some((index, leaf)) = object.next_held(pages, object.most_pages()) {
            match leaf {
                Leaf::Nothing => {}
                Leaf::Swapped(slot) => {
                    if object.replace(index, leaf, Leaf::Nothing) == Ok(Ok(())) {
                        self.release_swap(slot);
                    }
                }
                Leaf::Page(page) => {
                    let state = self.word(page).state();
                    if state.is_transferred() {
                        return Err(SpaceError::Wait(page));
                    } else if state.is_failed() {
                        self.withdraw(home, index, page);
                    } else if let Some(hold) = self.hold(page, |_| true) {
                        let is_its = matches!(&hold.home, HeldHome::Object(of) if of.as_ptr() == home);
                        if is_its && hold.place == index {
                            self.take_translations(&hold, &mut shots);
                            self.fire(&mut shots);
                            self.take_wires(&hold);
                            self.detach(&hold, None);
                        }
                        self.drop_hold(hold);
                    } else {
                        relax();
                    }
                }
            }
        }
        Ok(())
    }
}
