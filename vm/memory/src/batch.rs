//! A batch of frames, mappings, page tables and nodes that a change took away, held until every CPU
//! has forgotten them.
//!
//! Nothing is freed before the CPUs that may have a translation, and on which the space is active,
//! have answered; for nodes, all CPUs on which it is active. Without a removed translation or
//! table, no CPU is asked: nodes wait among the CPU's `Leftovers` until they are many, or all CPUs
//! are asked anyway. Many pages share a shoot-down: up to [`MOST_PAGES`] private ones.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::cpu_set::{CpuSet, Users};
use crate::machine::{Flush, FrameSource, Machine, Pmap, Translation};
use crate::memory::Cpu;
use crate::object::mapping::Mapping;
use crate::space::SpaceBody;
use crate::tree::slot::Mapped;
use crate::tree::{LEAF_PAGES, RetiredNodes};
use core::{mem, ptr};

/// Maximum number of private pages in a batch; their numbers are on the stack.
#[cfg(not(all(loom, test)))]
pub(crate) const MOST_PAGES: usize = 128;
/// Small, so that tests see several shoot-downs per call.
#[cfg(all(loom, test))]
pub(crate) const MOST_PAGES: usize = 2;

/// A batch. Dropping it does nothing; see [`finish`](Self::finish).
pub(crate) struct Batch<'a, 'm, M: Machine, F> {
    cpu: &'a Cpu<'m, M, F>,
    space: &'a SpaceBody<'m, M>,
    /// First changed page, and one past the last.
    changed: Option<(u64, u64)>,
    /// The CPUs that must forget these pages.
    losers: CpuSet,
    /// The pages of a large entry changed as a whole, and its old translation.
    large: Option<(PageRange, Translation)>,
    pages: [u32; MOST_PAGES],
    page_count: usize,
    mapping: *mut Inner<Mapping>,
    mapping_owners: usize,
    /// Tables taken out of those that `losers` translate with.
    tables: <M::Pmap as Pmap>::Retired,
    /// For `Tree::retire`.
    pub(crate) nodes: RetiredNodes,
}

impl<'a, 'm, M: Machine, F: FrameSource> Batch<'a, 'm, M, F> {
    pub(crate) fn new(cpu: &'a Cpu<'m, M, F>, space: &'a SpaceBody<'m, M>) -> Self {
        Self {
            cpu,
            space,
            changed: None,
            losers: CpuSet::NONE,
            large: None,
            pages: [0; MOST_PAGES],
            page_count: 0,
            mapping: ptr::null_mut(),
            mapping_owners: 0,
            tables: Default::default(),
            nodes: RetiredNodes::none(),
        }
    }

    /// Records that translations of pages were removed or lost rights.
    fn changed(&mut self, pages: PageRange) {
        let (begin, end) = self.changed.unwrap_or((pages.begin(), pages.end()));
        self.changed = Some((begin.min(pages.begin()), end.max(pages.end())));
    }

    /// Removes a page's translation, which its slot says may exist: with its first page, the whole
    /// large entry if all of it lies before `end`. Returns the old translation. Calls come in page
    /// order, and all slots before `end` are locked.
    pub(crate) fn remove(&mut self, page: u64, mapped: Mapped, end: u64) -> Option<Translation> {
        let (cpu, space) = (self.cpu, self.space);
        if mapped.large {
            let removed = self.as_large(page, end, mapped.users, |batch, first| {
                let (tables, losers) = (&mut batch.tables, &mut batch.losers);
                cpu.remove_large_translations(space, first, mapped.users, tables, losers).map(|removed| (removed, true))
            });
            if removed.is_some() {
                return removed;
            }
        }
        let (tables, losers) = (&mut self.tables, &mut self.losers);
        let removed = cpu.remove_translations(space, VirtualPage(page), mapped.users, tables, losers);
        // Even without an entry, a TLB may still have a translation that is being removed.
        self.changed(PageRange::of(VirtualPage(page)));
        removed
    }

    /// Restricts a page's translation, which its slot says may exist, to these rights; large
    /// entries as in `remove`. An entry never gains rights here: the next fault adds them.
    pub(crate) fn protect(&mut self, page: u64, mapped: Mapped, rights: Rights, end: u64) {
        let (cpu, space) = (self.cpu, self.space);
        let mut losers = CpuSet::NONE;
        if mapped.large
            && self
                .as_large(page, end, mapped.users, |batch, first| {
                    let before = cpu.protect_large_translations(space, first, mapped.users, rights, &mut losers)?;
                    batch.losers = batch.losers.with(&losers);
                    Some((before, !losers.is_empty()))
                })
                .is_some()
        {
            return;
        }
        cpu.protect_translations(space, VirtualPage(page), mapped.users, rights, &mut losers);
        if !losers.is_empty() {
            self.losers = self.losers.with(&losers);
            self.changed(PageRange::of(VirtualPage(page)));
        }
    }

    /// Changes the large entry of a page by `change`, which returns the old translation and whether
    /// TLBs must forget it. Returns the old translation if the whole entry was changed, with its
    /// first page. Divides the entry and returns `None` if only a part is to change.
    fn as_large(
        &mut self,
        page: u64,
        end: u64,
        users: Users,
        change: impl FnOnce(&mut Self, VirtualPage) -> Option<(Translation, bool)>,
    ) -> Option<Translation> {
        if let Some((pages, said)) = &self.large
            && (pages.begin()..pages.end()).contains(&page)
        {
            return Some(*said);
        }
        let pages = PageRange::large_with(VirtualPage(page), M::Pmap::LARGE_PAGES);
        if pages.begin() == page
            && pages.end() <= end
            && let Some((said, must_forget)) = change(self, pages.first())
        {
            self.large = Some((pages, said));
            if must_forget {
                self.changed(pages);
            }
            return Some(said);
        }
        self.cpu.divide(self.space, VirtualPage(page), users);
        None
    }

    /// Adds tables taken out of those that this CPU translates with.
    pub(crate) fn retire_tables(&mut self, tables: <M::Pmap as Pmap>::Retired) {
        self.tables = tables;
        self.losers = self.cpu.table_users(self.space);
    }

    /// Takes out the nodes of a locked range of holes that lie in it.
    pub(crate) fn retire(&mut self, range: PageRange) {
        if range.pages() >= LEAF_PAGES {
            // SAFETY: the range is locked, and all holes.
            unsafe { self.space.tree.retire(range, &mut self.nodes) };
        }
    }

    /// Decides which nodes are freed now: none, or those of this batch and all that were kept.
    /// Every CPU that walks the tree must answer before.
    fn choose_nodes(&mut self) {
        let Some(left) = self.space.leftovers(self.cpu.number) else { return };
        let nodes = mem::replace(&mut self.nodes, RetiredNodes::none());
        self.nodes = if self.is_due() && self.losers == CpuSet::ALL {
            left.take().followed_by(nodes)
        } else if nodes.is_empty() {
            nodes
        } else {
            left.keep(nodes)
        };
    }

    /// True if CPUs must be asked.
    pub(crate) fn is_due(&self) -> bool {
        self.changed.is_some() || !self.nodes.is_empty() || !M::Pmap::is_empty(&self.tables)
    }

    /// Releases an owner of a page.
    pub(crate) fn release_page(&mut self, page: u32) {
        if self.page_count == MOST_PAGES {
            self.finish();
        }
        if let Some(place) = self.pages.get_mut(self.page_count) {
            *place = page;
            self.page_count += 1;
        }
    }

    /// Releases an owner of a mapping.
    ///
    /// # Safety
    /// As for [`Counted::from_raw`]; or null.
    pub(crate) unsafe fn release_mapping(&mut self, mapping: *mut Inner<Mapping>) {
        if mapping.is_null() {
            return;
        }
        if mapping != self.mapping {
            if !self.mapping.is_null() {
                self.finish();
            }
            self.mapping = mapping;
        }
        self.mapping_owners += 1;
    }

    /// Waits for CPUs if needed, then frees everything. The caller has no guard of `pin`, and the
    /// space's tables and nodes are in their final state.
    pub(crate) fn finish(&mut self) {
        self.choose_nodes();
        if self.is_due() {
            self.ask();
        }
        self.space.free_answered_tables(mem::take(&mut self.tables));
        // SAFETY: all CPUs have answered. Those not asked entered later and walk the tree without
        // these nodes.
        unsafe { self.nodes.free() };
        for page in self.pages.iter().take(mem::take(&mut self.page_count)) {
            self.cpu.release_now(*page);
        }
        let mapping = mem::replace(&mut self.mapping, ptr::null_mut());
        if !mapping.is_null() {
            // SAFETY: the owners that `release_mapping` was given.
            let mapping = unsafe { Counted::from_raw(mapping) };
            self.cpu.release_mapping(mapping, mem::take(&mut self.mapping_owners));
        }
    }

    /// Flushes this CPU's TLB, and those of `losers` on which the space is active; if nodes go,
    /// those of all CPUs on which it is active.
    fn ask(&mut self) {
        let frees_tables = !M::Pmap::is_empty(&self.tables);
        let pages = match self.changed.take() {
            Some((begin, end)) => PageRange::new(VirtualPage(begin), end - begin).unwrap_or(PageRange::ALL),
            // Tables without a removed translation: the batch does not know their pages.
            None if frees_tables => PageRange::ALL,
            // Nodes alone: no translation goes, so any page will do.
            None => PageRange::of(VirtualPage(0)),
        };
        let flush = Flush { space: self.space.id, pages, frees_tables };
        self.cpu.machine().flush(self.cpu.number, &flush);
        let losers = mem::replace(&mut self.losers, CpuSet::NONE);
        // Nodes are walked by all.
        let losers = if self.nodes.is_empty() { losers } else { CpuSet::ALL };
        let others = self.space.active.others_than(self.cpu.number, &losers);
        if others.is_empty() {
            self.cpu.count(Event::LocalFlush);
            return;
        }
        self.cpu.count(Event::ShootDown);
        self.cpu.add(Event::ShotCpu, others.len());
        self.cpu.machine().shoot(&others, &flush);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::hosted::{Hosted, Outcome, PageTable, RetiredTables};
    use crate::memory::Memory;
    use crate::test_frames::List;
    use faultline_numbers::{CpuNumber, FrameNumber};
    use std::boxed::Box;

    /// Their pages are not known, so a TLB forgets all: here a translation of another page.
    #[test]
    fn tables_without_a_removed_translation_are_freed_after_a_flush_of_all_pages() {
        const PAGE: VirtualPage = VirtualPage(5);
        const FAR: VirtualPage = VirtualPage(1 << 20);
        let (list, cpu) = (List::of(2), CpuNumber(0));
        let memory = Memory::new(Hosted::new(1, FrameNumber(0), 2, 1).unwrap(), 1, 2).unwrap();
        let memory: &'static Memory<Hosted> = Box::leak(Box::new(memory));
        list.watch(memory);
        // SAFETY: the number has one handle; the frames are one list's.
        let own = unsafe { memory.cpu(cpu, list.clone()) }.unwrap();
        let space = own.new_space().unwrap();
        own.activate(&space).unwrap();
        own.map(&space, PageRange::of(PAGE), Rights::READ | Rights::WRITE).unwrap();
        own.fault(&space, PAGE, Rights::WRITE).unwrap();
        assert_eq!(memory.machine().access(cpu, &space, PAGE, 0, None), Outcome::Done(0));
        let is_translated = || [0, 1].iter().any(|frame| memory.machine().is_translated(FrameNumber(*frame)));
        assert!(is_translated());
        let (pmap, mut tables) = (space.pmap(cpu).unwrap(), RetiredTables::default());
        pmap.enter(FAR, FrameNumber(1), Rights::READ, &mut tables).unwrap();
        assert!(pmap.remove(FAR, &mut tables).is_some() && !PageTable::is_empty(&tables));
        own.ask_and_free_tables(space.body(), tables);
        assert!(!is_translated());
        own.deactivate(&space);
        assert!(own.exit(space).is_ok() && list.free() == 2);
    }
}
