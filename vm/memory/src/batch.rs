//! What a change of a space has taken away, gathered until every CPU has forgotten it: frames, mappings, page tables, nodes.
//!
//! Nothing is given back before the CPUs on which the space is active have answered. If no translation was taken away and no table or
//! node was taken out, none is asked. Many pages share a shoot-down: up to [`MOST_PAGES`] private ones.

use crate::address::{PageRange, VirtualPage};
use crate::counted::{Counted, Inner};
use crate::counters::Event;
use crate::machine::{Flush, FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::mapping::Mapping;
use crate::pmap::Pmap;
use crate::space::SpaceBody;
use crate::tree::RetiredNodes;
use core::ptr;

/// Private pages of a batch: their numbers are kept on the stack.
#[cfg(not(all(loom, test)))]
pub(crate) const MOST_PAGES: usize = 128;
/// Small, so that tests see several shoot-downs of one call.
#[cfg(all(loom, test))]
pub(crate) const MOST_PAGES: usize = 2;

/// A batch. It does nothing when it is dropped; see [`finish`](Self::finish).
pub(crate) struct Batch<'a, 'm, M: Machine, F> {
    cpu: &'a Cpu<'m, M, F>,
    space: &'a SpaceBody<'m, M>,
    /// First and last page whose translation has changed.
    changed: Option<(u64, u64)>,
    pages: [u32; MOST_PAGES],
    page_count: usize,
    mapping: *mut Inner<Mapping>,
    mapping_owners: usize,
    /// For `Pmap::remove` and `enter`.
    pub(crate) tables: <M::Pmap as Pmap>::Retired,
    /// For `Tree::retire`.
    pub(crate) nodes: RetiredNodes,
}

impl<'a, 'm, M: Machine, F: FrameSource> Batch<'a, 'm, M, F> {
    pub(crate) fn new(cpu: &'a Cpu<'m, M, F>, space: &'a SpaceBody<'m, M>) -> Self {
        Self {
            cpu,
            space,
            changed: None,
            pages: [0; MOST_PAGES],
            page_count: 0,
            mapping: ptr::null_mut(),
            mapping_owners: 0,
            tables: Default::default(),
            nodes: RetiredNodes::none(),
        }
    }

    /// A page's translation was removed, or has lost rights.
    pub(crate) fn changed(&mut self, page: u64) {
        let (first, last) = self.changed.unwrap_or((page, page));
        self.changed = Some((first.min(page), last.max(page)));
    }

    /// Whether CPUs must be asked.
    pub(crate) fn is_due(&self) -> bool {
        self.changed.is_some() || !self.nodes.is_empty() || !M::Pmap::is_empty(&self.tables)
    }

    /// An owner of a page is gone.
    pub(crate) fn release_page(&mut self, page: u32) {
        if self.page_count == MOST_PAGES {
            self.finish();
        }
        self.pages[self.page_count] = page;
        self.page_count += 1;
    }

    /// An owner of a mapping is gone.
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

    /// Waits for CPUs, if there is a reason; then gives everything back. The caller has no guard of `pin`, and the space's tables
    /// and nodes are as they shall be.
    pub(crate) fn finish(&mut self) {
        if self.is_due() {
            self.ask();
        }
        self.space.pmap.free(core::mem::take(&mut self.tables));
        // SAFETY: the CPUs have answered. Those that were not asked have entered later, and walk the tree without these nodes.
        unsafe { self.nodes.free() };
        for page in self.pages.iter().take(core::mem::take(&mut self.page_count)) {
            self.cpu.release_now(*page);
        }
        let mapping = core::mem::replace(&mut self.mapping, ptr::null_mut());
        if !mapping.is_null() {
            // SAFETY: the owners that `release_mapping` was given.
            let mapping = unsafe { Counted::from_raw(mapping) };
            self.cpu.release_mapping(mapping, core::mem::take(&mut self.mapping_owners));
        }
    }

    /// Makes this CPU's TLB and those of the others on which the space is active forget.
    fn ask(&mut self) {
        let (first, last) = self.changed.take().unwrap_or((0, 0));
        let pages = PageRange::new(VirtualPage(first), last - first + 1).unwrap_or(PageRange::ALL);
        let flush = Flush { space: self.space.id, pages };
        self.cpu.machine().flush(self.cpu.number, &flush);
        let others = self.space.active.others_than(self.cpu.number);
        if others.is_empty() {
            self.cpu.count(Event::LocalFlush);
            return;
        }
        self.cpu.count(Event::ShootDown);
        self.cpu.add(Event::ShotCpu, others.len());
        self.cpu.machine().shoot(&others, &flush);
    }
}
