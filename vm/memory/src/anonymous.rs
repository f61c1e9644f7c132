//! Anonymous objects as callers have them, and their pages.

use crate::counted::Counted;
use crate::counters::Event;
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine};
use crate::memory::{Cpu, Memory};
use crate::object::{Object, Published};
use crate::primitive::relax;

/// An anonymous object: zero-filled memory that may be mapped into several spaces, or several times into one. It lives as long as
/// a mapping or a handle does. A handle ends by [`Cpu::drop_object`]: one that is just dropped leaks the object.
#[derive(Debug)]
pub struct Anonymous<'m, M> {
    pub(crate) memory: &'m Memory<M>,
    pub(crate) object: Counted<Object>,
}

impl<M> Anonymous<'_, M> {
    /// Length in pages.
    pub fn pages(&self) -> u64 {
        self.object.get().pages()
    }

    /// Number of pages that are there.
    pub fn resident(&self) -> u64 {
        (0..self.pages()).filter(|index| self.object.get().page(*index).is_some()).count() as u64
    }

    /// The index of the frame of a page, if it is there.
    pub fn page(&self, index: u64) -> Option<u32> {
        (index < self.pages()).then(|| self.object.get().page(index)).flatten()
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// An object of this many pages.
    pub fn new_object(&self, pages: u64) -> Result<Anonymous<'m, M>, NoMemory> {
        Ok(Anonymous { memory: self.memory, object: Counted::try_new(Object::try_new(pages)?)? })
    }

    /// Gives a handle up. After the last handle and the last mapping the object's frames are free.
    pub fn drop_object(&self, object: Anonymous<'m, M>) {
        if core::ptr::eq(object.memory, self.memory) {
            self.release_object(object.object);
        }
    }

    pub(crate) fn release_object(&self, object: Counted<Object>) {
        if let Some(object) = object.release(1) {
            object.end(&mut |page| self.release_now(page));
        }
    }

    /// The page of an object, made of zeroes if it is not there. The caller has no guard of `pin`.
    pub(crate) fn object_page(&self, object: &Object, index: u64) -> Result<u32, NoMemory> {
        if let Some(page) = object.page(index) {
            self.count(Event::ObjectHit);
            return Ok(self.wait_until_valid(page));
        }
        let (page, zeroed) = self.claim()?;
        match object.publish(index, page) {
            Ok(Published::Ours) => {
                if !zeroed {
                    self.machine().zero(self.frame(page));
                }
                self.filled(page);
                self.count(Event::ObjectFill);
                Ok(page)
            }
            Ok(Published::Other(other)) => {
                self.release_now(page);
                self.count(Event::ObjectHit);
                Ok(self.wait_until_valid(other))
            }
            Err(error) => {
                self.release_now(page);
                Err(error)
            }
        }
    }

    /// Waits while another CPU fills a page.
    fn wait_until_valid(&self, page: u32) -> u32 {
        while !self.word(page).state().is_valid() {
            self.count(Event::Wait);
            relax();
        }
        page
    }
}
