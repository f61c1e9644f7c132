//! Fork and exit.
//!
//! A fork copies the tree, so a lookup in the child takes as many steps as in the parent,
//! regardless of earlier forks: there are no chains of shadow objects. Each space is an owner of
//! private pages, and both lose the right to write them until one copies the page or is its last
//! owner. Page tables are not copied: the child's faults fill them.
//!
//! The copy goes in pieces, in address order (see `pieces`). A piece's slots are unlocked after no
//! TLB can write its pages any more, so a fault finds a slot that is not copied yet, as if there
//! were no fork, or one whose pages are shared, and copies a page before it writes. Faults wait for
//! one piece. In return the child is no snapshot of a program whose other threads write meanwhile:
//! of two writes of one thread it may have the later one alone. Changes of mappings wait, so the
//! child has all of a piece's change or nothing, and both ends of a move or neither.
//!
//! Reverse lookups must find a page in the child as soon as they find its slot in the parent
//! unlocked. So the child joins its family before the first piece, behind its parent, and visits
//! come to the parent first: a visit that meets the parent's slot before it is copied changes what
//! the fork copies, and one that meets it later meets the child's slot too.

use crate::address::{PageRange, Rights, VirtualPage};
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

/// Slots of a piece, as [`PIECE_SLOTS`](crate::pieces::PIECE_SLOTS): more, because each piece may
/// cost a shoot-down.
#[cfg(not(all(loom, test)))]
const COPIED_SLOTS: u64 = 512;
/// Small, so that tests have several pieces.
#[cfg(all(loom, test))]
const COPIED_SLOTS: u64 = 1;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Makes a space with the same mappings and contents, active on no CPU. Works in pieces;
    /// changes of the space's mappings by other threads wait for all of it, faults for one piece.
    /// Contents that other threads write meanwhile may be in the child or not. Fails if memory runs
    /// out; then only rights of page-table entries have changed, which faults restore.
    pub fn fork(&self, space: &Space<'m, M>) -> Result<Space<'m, M>, SpaceError> {
        let space = self.check_active(space)?;
        // So that they are not copied.
        self.tidy_all(space);
        let child = self.space_of(&space.family, space.pages).map_err(|error| self.no_memory(error))?;
        child.body().stack_limit.store(space.stack_limit.load(Relaxed), Relaxed);
        child.body().makes_large.store(space.makes_large.load(Relaxed), Relaxed);
        while !space.begin_fork() {
            self.wait_for_fork(space);
        }
        child.join_behind(space);
        let mut copied = Ok(());
        let mut rest = Some(space.tree.pages());
        while let Some(range) = rest {
            match self.copy_piece(space, child.body(), range) {
                Ok(end) => rest = range.behind(end),
                Err(error) => (copied, rest) = (Err(error), None),
            }
            if rest.is_some() {
                self.pause();
            }
        }
        space.end_fork();
        match copied {
            Ok(()) => {
                self.count(Event::Fork);
                Ok(child)
            }
            Err(error) => {
                self.end(child);
                Err(self.no_memory(error).into())
            }
        }
    }

    /// Copies the first piece of a range. Returns its end.
    fn copy_piece(
        &self,
        space: &SpaceBody<'m, M>,
        child: &SpaceBody<'m, M>,
        range: PageRange,
    ) -> Result<u64, NoMemory> {
        // Needs a node only if another CPU has just taken an empty one out.
        let lock = self.lock_up_to(space, range, COPIED_SLOTS)?;
        let mut batch = Batch::new(self, space);
        let piece = lock.range();
        // SAFETY: 1. The piece is locked, and both spaces have the same limits. 2. The first piece
        // begins at 0, and each ends with a leaf or a slot above leaves. 3. Other CPUs only visit
        // the child.
        let copied = unsafe {
            space.tree.copy_to(&child.tree, piece, &mut |from, to, begin| {
                self.copy_slot(from, to, begin, piece.end(), &mut batch)
            })
        };
        batch.finish();
        copied.map(|()| piece.end())
    }

    /// Copies a mapped slot. `end`: all slots before it are locked.
    fn copy_slot(
        &self,
        from: &Slot,
        to: &Slot,
        begin: u64,
        end: u64,
        batch: &mut Batch<'_, 'm, M, F>,
    ) -> Result<(), NoMemory> {
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
                    batch.protect(begin, mapped, mapped.rights.without(Rights::WRITE), end);
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
        to.set(View::Mapped(Mapped { shared, marks, content, ..mapped.untranslated() }));
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
        let mut steps = 0_u64;
        let mut pause = || {
            steps += 1;
            self.pause_each(steps);
        };
        let mut end_slot = |slot: &Slot, begin: u64, _: u64| -> Result<(), Infallible> {
            pause();
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
        let mut body = space.into_body();
        body.tree.free_nodes(&mut pause);
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
