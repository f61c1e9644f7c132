//! Objects as callers have them.

use crate::counted::{Counted, Inner};
use crate::error::NoMemory;
use crate::machine::{FrameSource, Machine};
use crate::memory::{Cpu, Memory};
use crate::object::mapping::Mapping;
use crate::object::mappings::Mappings;
use crate::object::pager::Pager;
use crate::object::{Backing, Leaf, Object};
use alloc::sync::Arc;
use core::mem::ManuallyDrop;
use faultline_numbers::FrameNumber;

/// An object: memory that may be mapped into several spaces, or several times into one. It lives as long as a mapping or a handle
/// does. A handle ends by [`Cpu::drop_object`]: one that is just dropped leaks the object.
#[derive(Debug)]
pub struct MemoryObject<'m, M> {
    pub(crate) memory: &'m Memory<M>,
    pub(crate) object: Counted<Object>,
}

impl<M> MemoryObject<'_, M> {
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
    fn object_of(&self, pages: u64, backing: Backing) -> Result<MemoryObject<'m, M>, NoMemory> {
        Ok(MemoryObject { memory: self.memory, object: Counted::try_new(Object::try_new(pages, backing)?)? })
    }

    /// An object of this many pages of zeroes.
    pub fn new_object(&self, pages: u64) -> Result<MemoryObject<'m, M>, NoMemory> {
        self.object_of(pages, Backing::Zeroes)
    }

    /// An object whose contents a pager has: page 0 is the pager's page 0. [`Cpu::truncate`] makes it shorter, and longer again up to
    /// this length.
    ///
    /// What was written goes to the pager when [`Cpu::write_back`] is called, or when the page daemon reclaims a page. What was not
    /// written back when the object ends is lost.
    pub fn new_paged_object(&self, pages: u64, pager: Arc<dyn Pager>) -> Result<MemoryObject<'m, M>, NoMemory> {
        self.object_of(pages, Backing::Pager(pager))
    }

    /// An object of the frames of a device, from `first` on. They need no index of the frame source.
    pub fn new_device_object(&self, pages: u64, first: FrameNumber) -> Result<MemoryObject<'m, M>, NoMemory> {
        self.object_of(pages, Backing::Device(first))
    }

    /// Gives a handle up. After the last handle and the last mapping the object's frames are free.
    pub fn drop_object(&self, object: MemoryObject<'m, M>) {
        if core::ptr::eq(object.memory, self.memory) {
            self.release_object(object.object);
        }
    }

    /// Makes an object one that all CPUs map and unmap at the same time without writing common lines: such as a library that every process
    /// has. Takes 64 bytes for each CPU. Before it is mapped, and with its only handle; else it stays as it is, and `false` is
    /// returned.
    pub fn spread(&self, object: &mut MemoryObject<'m, M>) -> Result<bool, NoMemory> {
        let mappings = Mappings::try_spread(self.memory.cpus())?;
        let Some(only) = object.object.get_mut() else { return Ok(false) };
        only.set_mappings(mappings);
        // The lists' owner.
        object.object.share(1);
        Ok(true)
    }

    pub(crate) fn release_object(&self, object: Counted<Object>) {
        // While the object is where it was: a page daemon that has just made a page busy asks its home whether it has an owner, and until
        // then the page is not given up.
        let give_up = |home: *const Inner<Object>| {
            // SAFETY: the last owner looks at it before it is freed.
            unsafe { (*home).value() }.give_up(&mut |leaf| match leaf {
                Leaf::Nothing => {}
                Leaf::Page(page) => self.release_now(page),
                Leaf::Swapped(slot) => self.release_swap(slot),
            });
        };
        // Beside the last other owner the lists own the object: they keep it no longer. Decided before this owner is gone, which
        // keeps the object meanwhile.
        let object = match object.release_unless(2, |object| object.mappings().are_open(), give_up) {
            Ok(last) => return drop(last),
            Err(object) => object,
        };
        let add_owners = |mappings| {
            object.share(mappings);
        };
        if object.get().mappings().close(add_owners) {
            let lists = object.alias();
            let is_last = ManuallyDrop::into_inner(lists).release(1).is_some();
            debug_assert!(!is_last, "this owner is left");
        }
        self.release_object(object);
    }

    /// Gives owners of a mapping up. After the last one the object no longer finds it.
    pub(crate) fn release_mapping(&self, mapping: Counted<Mapping>, owners: usize) {
        let mut is_owner = false;
        let leave = |link: *const Inner<Mapping>| {
            // SAFETY: the last owner looks at it before it is freed.
            let mapping = unsafe { (*link).value() };
            is_owner = mapping.object.get().mappings().remove(link, mapping.list);
        };
        if let Some(last) = mapping.release_after(owners, leave)
            && is_owner
        {
            self.release_object(ManuallyDrop::into_inner(last.object));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::address::{PageRange, Rights, VirtualPage};
    use crate::hosted::Hosted;
    use core::cell::{Cell, RefCell};
    use faultline_frames::ZeroedFrame;
    use faultline_numbers::CpuNumber;
    use std::boxed::Box;
    use std::rc::Rc;

    type WhenPut<'a> = Rc<RefCell<Option<Box<dyn Fn() + 'a>>>>;

    /// Frames from 0 on, which are given out once. Something is done when one is put.
    struct Frames<'a> {
        next: Rc<Cell<u32>>,
        when_put: WhenPut<'a>,
    }

    // SAFETY: 1. No frame is given out twice. 2. Its index is its number.
    unsafe impl FrameSource for Frames<'_> {
        fn get(&self) -> Result<ZeroedFrame, NoMemory> {
            let number = self.next.replace(self.next.get() + 1);
            Ok(ZeroedFrame { number: FrameNumber(number.into()), zeroed: false })
        }

        fn put(&self, _: &[FrameNumber]) {
            if let Some(act) = &*self.when_put.borrow() {
                act();
            }
        }

        fn index_of(&self, frame: FrameNumber) -> Option<u32> {
            Some(frame.0 as u32)
        }

        fn frame_at(&self, index: u32) -> Option<FrameNumber> {
            Some(FrameNumber(index.into()))
        }

        fn index_count(&self) -> u32 {
            8
        }
    }

    /// When the first page of an object that ends is given up, another CPU wants to hold the second one. Miri finds it if the object's
    /// memory is freed by then.
    #[test]
    fn who_looks_at_a_page_of_an_object_that_ends_finds_it_without_an_owner() {
        let memory = Memory::new(Hosted::new(2, FrameNumber(0), 8, 1).unwrap(), 2, 8).unwrap();
        let (next, when_put) = (Rc::new(Cell::new(0)), WhenPut::default());
        // SAFETY: each number has one handle; the frames are the same.
        let [cpu, other] = [0, 1].map(|number| unsafe {
            memory.cpu(CpuNumber(number), Frames { next: next.clone(), when_put: when_put.clone() }).unwrap()
        });
        let (object, space) = (cpu.new_object(2).unwrap(), cpu.new_space().unwrap());
        cpu.activate(&space).unwrap();
        cpu.map_object(&space, PageRange::new(VirtualPage(0), 2).unwrap(), Rights::READ, &object, 0).unwrap();
        [0, 1].into_iter().for_each(|page| cpu.fault(&space, VirtualPage(page), Rights::READ).unwrap());
        cpu.deactivate(&space);
        assert!(cpu.exit(space).is_ok());
        let looks = Rc::new(Cell::new(0));
        let counted = looks.clone();
        when_put.replace(Some(Box::new(move || {
            assert!(other.hold(1, |_| true).is_none());
            counted.set(counted.get() + 1);
        })));
        cpu.drop_object(object);
        assert_eq!(looks.get(), 2);
        when_put.replace(None);
    }
}
