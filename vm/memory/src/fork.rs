//! Fork and exit.
//!
//! A fork copies the tree, so a lookup in the child takes as many steps as in the parent,
//! regardless of earlier forks: there are no chains of shadow objects. Each space is an owner of
//! private pages, and both lose the right to write them until one copies the page or is its last
//! owner. Page tables are not copied: the child's faults fill them.

use crate::address::{Rights, VirtualPage};
use crate::batch::Batch;
use crate::counted::Counted;
use crate::counters::Event;
use crate::cpu_set::CpuSet;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine, Pmap};
use crate::memory::Cpu;
use crate::page_word::PageStep;
use crate::space::{Space, SpaceBody};
use crate::tree::slot::{Content, Mapped, Marks, Slot, View};
use core::convert::Infallible;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes a space with the same mappings and contents, active on no CPU. Fails if memory runs
    /// out; then only rights of page-table entries have changed, which faults restore.
    pub fn fork(&self, space: &Space<'m, M>) -> Result<Space<'m, M>, SpaceError> {
        let space = self.check_active(space)?;
        // So that they are not copied.
        self.tidy_all(space);
        // Locking the whole space needs no node.
        let lock = self.lock(space, space.tree.pages()).map_err(|error| self.no_memory(error))?;
        let child = self.space_of(&space.family, space.pages).map_err(|error| self.no_memory(error))?;
        child.body().stack_limit.store(space.stack_limit.load(Relaxed), Relaxed);
        child.body().makes_large.store(space.makes_large.load(Relaxed), Relaxed);
        let mut batch = Batch::new(self, space);
        // SAFETY: 1. All of the space is locked. 2. The child is not shared yet.
        let copied = unsafe {
            space.tree.copy_to(&child.body().tree, &mut |from, to, begin| {
                self.copy_slot(from, to, begin, &mut batch).map_err(SpaceError::from)
            })
        };
        batch.finish();
        // Reverse lookups find the child as soon as they find the parent's slots unlocked.
        child.join();
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

    fn copy_slot(&self, from: &Slot, to: &Slot, begin: u64, batch: &mut Batch<'_, 'm, M, F>) -> Result<(), NoMemory> {
        let View::Mapped(mapped) = from.load().view() else { return Ok(()) };
        let (mut shared, mut content) = (false, mapped.content);
        match mapped.content {
            Content::Nothing => {}
            // The child does not wire it.
            Content::Kept(_) => content = Content::Nothing,
            Content::Page(page) => {
                self.word(page).step(PageStep::Share).map_err(|_| NoMemory)?;
                shared = true;
                from.set(View::Mapped(Mapped { shared, ..mapped }));
                if mapped.is_entered() {
                    batch.protect(begin, mapped, mapped.rights.without(Rights::WRITE), u64::MAX);
                }
            }
            // Each space reads a page of its own.
            Content::Swapped(slot) => self.share_swap(slot),
        }
        if !from.mapping().is_null() {
            // SAFETY: the slot is an owner; the reference does not release it.
            let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(from.mapping()) });
            to.set_mapping(mapping.share(1));
        }
        let marks = mapped.marks.without(Marks::LOCKED.with(Marks::WIRED));
        to.unlock_as(View::Mapped(Mapped { shared, marks, content, ..mapped.untranslated() }));
        Ok(())
    }

    /// Ends a space: releases its pages. Fails, and returns the space, if it is still active on a
    /// CPU.
    pub fn exit(&self, space: Space<'m, M>) -> Result<(), (Space<'m, M>, SpaceError)> {
        if !ptr::eq(space.body().memory, self.memory) {
            return Err((space, SpaceError::OtherMemory));
        }
        if space.is_active() {
            return Err((space, SpaceError::Active));
        }
        self.count(Event::Exit);
        self.end(space);
        Ok(())
    }

    /// Ends a space that only the caller has and that is active on no CPU, so no TLB knows it. Its
    /// family finds it until everything is released: the accessed and dirty bits of object pages
    /// are recorded before a page daemon could miss them.
    fn end(&self, space: Space<'m, M>) {
        let body = space.body();
        let mut tables = Default::default();
        let mut end_slot = |slot: &Slot, begin: u64, _: u64| -> Result<(), Infallible> {
            if slot.load().view() == View::Hole {
                return Ok(());
            }
            slot.lock();
            self.end_slot(body, slot, begin, &mut tables);
            slot.unlock_as(View::Hole);
            Ok(())
        };
        // SAFETY: no other CPU changes the tree: visitors of the family lock slots that are not
        // nodes, briefly.
        let Ok(()) = unsafe { body.tree.visit(body.tree.pages(), &mut end_slot) };
        space.leave();
        let body = space.into_body();
        body.free_answered_tables(tables);
        // Its pages, which led to the family, are gone.
        body.family.release(1);
    }

    fn end_slot(&self, space: &SpaceBody<'m, M>, slot: &Slot, begin: u64, tables: &mut <M::Pmap as Pmap>::Retired) {
        let View::Mapped(mut mapped) = slot.load().view() else { return };
        let mapping = slot.mapping();
        // Active nowhere, so no CPU needs a flush.
        let losers = &mut { CpuSet::NONE };
        if !mapping.is_null()
            && let Some(removed) = self.remove_translations(space, VirtualPage(begin), mapped.users, tables, losers)
        {
            self.note(mapping, mapped, begin, &removed);
        }
        self.unwire(&mut mapped);
        match mapped.content {
            Content::Nothing | Content::Kept(_) => {}
            Content::Page(page) => self.release_now(page),
            Content::Swapped(slot) => self.release_swap(slot),
        }
        if !mapping.is_null() {
            slot.set_mapping(ptr::null_mut());
            // SAFETY: the slot was an owner, and no longer is.
            self.release_mapping(unsafe { Counted::from_raw(mapping) }, 1);
        }
    }
}
