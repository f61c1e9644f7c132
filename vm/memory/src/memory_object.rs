//! Objects, as the caller's handles, and truncation.

use crate::broken::Broken;
use crate::counted::{Counted, Inner};
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::{Cpu, Memory};
use crate::object::mapping::{Mapping, Mappings};
use crate::object::pager::{HeldHome, Pager};
use crate::object::{Backing, Leaf, Object};
use crate::primitive::relax;
use crate::reverse::Shots;
use alloc::sync::Arc;
use core::mem::ManuallyDrop;
use faultline_numbers::FrameNumber;

/// An object: memory that may be mapped into several spaces, or several times into one. Lives as
/// long as a mapping or a handle. [`Cpu::drop_object`] ends a handle; dropping a handle instead
/// leaks the object.
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

    /// Number of resident pages.
    pub fn resident(&self) -> u64 {
        (0..self.pages()).filter(|index| self.object.get().page(*index).is_some()).count() as u64
    }

    /// The frame index of a resident page.
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

    /// An object with contents from a pager: page 0 is the pager's page 0. [`Cpu::truncate`]
    /// shortens it, and lengthens it again up to this length.
    ///
    /// Written pages go to the pager when [`Cpu::write_back`] is called, or when the page daemon
    /// reclaims a page. Changes not written back when the object ends are lost.
    pub fn new_paged_object(&self, pages: u64, pager: Arc<dyn Pager>) -> Result<MemoryObject<'m, M>, NoMemory> {
        self.object_of(pages, Backing::Pager(pager))
    }

    /// An object of a device's frames, from `first` on. They need no index in the frame source.
    pub fn new_device_object(&self, pages: u64, first: FrameNumber) -> Result<MemoryObject<'m, M>, NoMemory> {
        self.object_of(pages, Backing::Device(first))
    }

    /// Ends a handle. After the last handle and the last mapping the object's frames are free.
    pub fn drop_object(&self, object: MemoryObject<'m, M>) {
        if core::ptr::eq(object.memory, self.memory) {
            self.release_object(object.object);
        }
    }

    /// Lets all CPUs map and unmap an object concurrently without writing common lines: for example
    /// a library that every process has. Takes 64 bytes per CPU. Call before it is mapped, with its
    /// only handle; otherwise does nothing and returns `false`.
    pub fn spread(&self, object: &mut MemoryObject<'m, M>) -> Result<bool, NoMemory> {
        let mappings = Mappings::try_spread(self.memory.cpus())?;
        let Some(only) = object.object.get_mut() else { return Ok(false) };
        only.set_mappings(mappings);
        // The lists' owner.
        object.object.share(1);
        Ok(true)
    }

    pub(crate) fn release_object(&self, object: Counted<Object>) {
        // While the object is in place: a page daemon that has just made a page busy asks its home
        // whether it has an owner, and until then the page is not released.
        let give_up = |home: *const Inner<Object>| {
            // SAFETY: the last owner looks at it before it is freed.
            unsafe { (*home).value() }.give_up(&mut |leaf| match leaf {
                Leaf::Nothing => {}
                Leaf::Page(page) => self.release_now(page),
                Leaf::Swapped(slot) => self.release_swap(slot),
            });
        };
        // If only the lists and one other owner are left, the lists no longer keep the object.
        // Decided before this owner is gone, which keeps the object meanwhile.
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
            if is_last {
                return self.broken(Broken::ObjectOwner);
            }
        }
        self.release_object(object);
    }

    /// Releases owners of a mapping. After the last one, the object no longer finds it.
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

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    // The new length is published first. Then pages beyond it are taken away one by one, along with
    // their translations. A fault that found a page before it was held has entered its translation
    // by the time its slot can be locked. A later fault finds the new length. A fault that
    // publishes a page meanwhile either finds the length after that and takes the page out again,
    // or truncation finds the page.

    /// Shortens an object, or lengthens it again up to its original length. Contents beyond the end
    /// are gone, and so are their translations; private copies stay until they are unmapped. One
    /// CPU at a time changes the length of an object.
    ///
    /// [`SpaceError::Wait`]: the length has changed, and a page beyond it is being transferred.
    /// Call again with the same length to continue.
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

    /// Frames from 0 on, each given out once. Runs a callback when one is freed.
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

        fn put(&self, _: &[FrameNumber]) -> bool {
            if let Some(act) = &*self.when_put.borrow() {
                act();
            }
            true
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

    /// When the first page of an ending object is released, another CPU wants to hold the second
    /// one. Miri reports an error if the object's memory is freed by then.
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
