//! Fork and exit.
//!
//! A fork copies the tree, so a lookup in the child is as long as in the parent, however many forks came before: there are no chains of
//! shadow objects. Private pages get an owner for each space that has them, and both spaces lose the right to write them until one
//! copies the page or is its last owner. Page tables are not copied: the child's faults fill them.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::batch::Batch;
use crate::counted::Counted;
use crate::counters::Event;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::page_word::PageStep;
use crate::pmap::Pmap;
use crate::space::Space;
use crate::tree::slot::{Mapped, Slot, View};
use core::mem::ManuallyDrop;
use core::ptr;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// A space with the same mappings and contents, active on no CPU. Fails if there is no memory; then only the rights of
    /// page-table entries have changed, which faults restore.
    pub fn fork(&self, space: &Space<'m, M>) -> Result<Space<'m, M>, SpaceError> {
        self.check_active(space)?;
        let child = self.new_space().map_err(|error| self.no_memory(error))?;
        let lock = self.lock(space, PageRange::ALL).map_err(|error| self.no_memory(error))?;
        let mut batch = Batch::new(self, space);
        // SAFETY: 1. All of the space is locked. 2. The child is not shared yet.
        let copied = unsafe {
            space.tree.copy_to(&child.tree, &mut |from, to, begin| {
                self.copy_slot(space, from, to, begin, &mut batch).map_err(SpaceError::from)
            })
        };
        batch.finish();
        drop(lock);
        match copied {
            Ok(()) => {
                self.count(Event::Fork);
                Ok(child)
            }
            Err(error) => {
                self.end(child);
                Err(self.no_memory(error))
            }
        }
    }

    fn copy_slot(
        &self,
        space: &Space<'m, M>,
        from: &Slot,
        to: &Slot,
        begin: u64,
        batch: &mut Batch<'_, 'm, M, F>,
    ) -> Result<(), NoMemory> {
        let View::Mapped(mapped) = from.load().view() else { return Ok(()) };
        if let Some(page) = mapped.page {
            self.word(page).step(PageStep::Share).map_err(|_| NoMemory)?;
            from.set(View::Mapped(Mapped { shared: true, ..mapped }));
            if mapped.entered {
                let pinned = self.pin();
                let before = space.pmap.protect(VirtualPage(begin), mapped.rights.without(Rights::WRITE));
                drop(pinned);
                if before.is_some_and(|before| before.rights.allows(Rights::WRITE)) {
                    batch.changed(begin);
                }
            }
        }
        if !from.mapping().is_null() {
            // SAFETY: the slot is an owner; the reference does not end it.
            let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(from.mapping()) });
            to.set_mapping(mapping.share(1));
        }
        to.unlock_as(View::Mapped(Mapped { entered: false, shared: mapped.page.is_some(), ..mapped }));
        Ok(())
    }

    /// Ends a space: all its pages lose an owner. Fails, and returns the space, if it is still active on a CPU.
    #[expect(clippy::result_large_err, reason = "the space is handed back, and lies in its caller's memory anyway")]
    pub fn exit(&self, space: Space<'m, M>) -> Result<(), (Space<'m, M>, SpaceError)> {
        if !ptr::eq(space.memory, self.memory) {
            return Err((space, SpaceError::OtherMemory));
        }
        if !space.active.is_empty() {
            return Err((space, SpaceError::Active));
        }
        self.count(Event::Exit);
        self.end(space);
        Ok(())
    }

    /// Ends a space that is active on no CPU, so no TLB knows it, and that the caller alone has, so no slot is locked.
    fn end(&self, space: Space<'m, M>) {
        let mut tables = Default::default();
        let mut end_slot = |slot: &Slot, begin: u64, _: u64| -> Result<(), NoMemory> {
            let View::Mapped(mapped) = slot.load().view() else { return Ok(()) };
            if let Some(page) = mapped.page {
                self.release_now(page);
            }
            let mapping = slot.mapping();
            if mapping.is_null() {
                return Ok(());
            }
            if mapped.entered
                && let Some(removed) = space.pmap.remove(VirtualPage(begin), &mut tables)
            {
                self.note(mapping, begin, &removed);
            }
            // SAFETY: the slot was an owner, and ends with its tree.
            if let Some(last) = unsafe { Counted::from_raw(mapping) }.release(1) {
                self.release_object(last.object);
            }
            Ok(())
        };
        // SAFETY: nobody else has the space.
        let ended = unsafe { space.tree.visit(PageRange::ALL, &mut end_slot) };
        debug_assert!(ended.is_ok());
        space.pmap.free(tables);
    }
}
