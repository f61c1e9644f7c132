//! Page tables of a space: `vm/memory`'s hosted machine with its TLBs, and the CPUs that a
//! shoot-down must reach.
//!
//! The hosted machine knows page tables as part of a `Space` of `vm/memory`, so each design's space
//! contains one, whose own tree stays empty. Fields: \[I] immutable; \[a] one atomic word by
//! itself; \[p] each entry as the design protects it.

use crate::systems::Cpu;
use faultline_memory::hosted::{Hosted, Outcome, PageTable, RetiredTables};
use faultline_memory::{
    CpuNumber, Event, Flush, Machine, NoMemory, PageRange, Pmap, Rights, SPACE_PAGES, Space, Translation, VirtualPage,
};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// All pages of a space.
pub(super) fn all_pages() -> PageRange {
    PageRange::new(VirtualPage(0), SPACE_PAGES).expect("a space has pages")
}

/// First page, and one past the last.
pub(super) fn ends(range: PageRange) -> (u64, u64) {
    (range.first().0, range.first().0 + range.pages())
}

/// The CPUs on which a space is active.
///
/// A CPU enters, then reads page tables. A CPU that changes them writes first, then reads the set.
/// Both have a sequentially consistent fence between the two steps, so either the second finds the
/// first in the set, or the first finds what the second wrote.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Active([AtomicU64; 4]);

impl Active {
    fn enter(&self, cpu: CpuNumber) {
        // Relaxed: ordered by the fence, which pairs with the one in `others`.
        self.0[cpu.0 as usize / 64].fetch_or(1 << (cpu.0 % 64), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    fn leave(&self, cpu: CpuNumber) {
        // Release: the CPU's uses come before; pairs with the fences in `others` and `is_empty`.
        self.0[cpu.0 as usize / 64].fetch_and(!(1 << (cpu.0 % 64)), Ordering::Release);
    }

    fn has(&self, cpu: CpuNumber) -> bool {
        // Relaxed: only the CPU itself changes its bit.
        self.0[cpu.0 as usize / 64].load(Ordering::Relaxed) >> (cpu.0 % 64) & 1 != 0
    }

    fn others(&self, cpu: CpuNumber) -> impl Iterator<Item = CpuNumber> + use<> {
        // Pairs with the fence in `enter`.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the release in `leave`.
        let words = [0, 1, 2, 3].map(|word: usize| self.0[word].load(Ordering::Acquire));
        let is_in = move |number: &u32| words[*number as usize / 64] >> (number % 64) & 1 != 0;
        (0..256).filter(is_in).map(CpuNumber).filter(move |other| *other != cpu)
    }

    fn is_empty(&self) -> bool {
        // Acquire: pairs with the release in `leave`.
        self.0.iter().all(|word| word.load(Ordering::Acquire) == 0)
    }
}

/// Page tables of a space.
#[derive(Debug)]
pub(super) struct Tables<'m> {
    /// \[I] Its page tables \[p], and its number for TLBs.
    known: Space<'m, Hosted>,
    /// \[a]
    active: Active,
}

impl<'m> Tables<'m> {
    pub(super) fn new(cpu: &Cpu<'m>) -> Result<Self, NoMemory> {
        Ok(Tables { known: cpu.host().new_space()?, active: Active::default() })
    }

    /// The number under which TLBs know them.
    pub(super) fn number(&self) -> u64 {
        self.known.id().0
    }

    /// One set for all CPUs: the machines of these designs have no others.
    fn pmap(&self) -> &PageTable {
        self.known.pmap(CpuNumber(0)).expect("all CPUs share them")
    }

    pub(super) fn activate(&self, cpu: &Cpu<'m>) {
        self.active.enter(cpu.number());
    }

    pub(super) fn deactivate(&self, cpu: &Cpu<'m>) {
        self.forget(cpu, cpu.number(), all_pages());
        self.active.leave(cpu.number());
    }

    pub(super) fn is_active(&self, cpu: &Cpu<'m>) -> bool {
        self.active.has(cpu.number())
    }

    pub(super) fn is_active_nowhere(&self) -> bool {
        self.active.is_empty()
    }

    pub(super) fn access(&self, cpu: &Cpu<'m>, page: VirtualPage, byte: usize, write: Option<u8>) -> Outcome {
        cpu.machine().access(cpu.number(), &self.known, page, byte, write)
    }

    /// The hosted machine caches no tables.
    fn flush_of(&self, pages: PageRange) -> Flush {
        Flush { space: self.known.id(), pages, frees_tables: false }
    }

    /// Flushes a CPU's TLB. The hosted machine's `flush` takes the lock of the given CPU, like its
    /// `shoot`; a set of CPUs for `shoot` cannot be made outside `vm/memory`.
    fn forget(&self, cpu: &Cpu<'m>, whose: CpuNumber, pages: PageRange) {
        cpu.machine().flush(whose, &self.flush_of(pages));
    }

    /// The entry of a page. Flushes the page from this CPU's TLB, which may have it with fewer
    /// rights.
    pub(super) fn look(&self, cpu: &Cpu<'m>, page: u64) -> Option<Translation> {
        let found = pinned(cpu, cpu.number(), || self.pmap().query(VirtualPage(page)));
        if found.is_some() {
            self.forget(cpu, cpu.number(), one(page));
        }
        found
    }

    /// Makes an entry, or adds rights to one of the same frame.
    pub(super) fn enter(&self, cpu: &Cpu<'m>, page: u64, held: u32, rights: Rights) -> Result<(), NoMemory> {
        let mut gone = Gone::new();
        let entered = pinned(cpu, cpu.number(), || {
            self.pmap().enter(VirtualPage(page), cpu.frame(held), rights, &mut gone.tables)
        });
        if !PageTable::is_empty(&gone.tables) {
            gone.finish(cpu, self);
        }
        entered
    }

    /// Removes an entry.
    pub(super) fn remove(&self, cpu: &Cpu<'m>, page: u64, gone: &mut Gone) {
        self.remove_as(cpu, cpu.number(), page, gone);
    }

    /// Like `remove`, for a CPU whose own page tables these are: its interrupts are off meanwhile.
    pub(super) fn remove_as(&self, cpu: &Cpu<'m>, whose: CpuNumber, page: u64, gone: &mut Gone) {
        let removed = pinned(cpu, whose, || self.pmap().remove(VirtualPage(page), &mut gone.tables));
        if removed.is_some() {
            gone.changed(page);
        }
    }

    /// Restricts an entry to these rights.
    pub(super) fn protect(&self, cpu: &Cpu<'m>, page: u64, rights: Rights, gone: &mut Gone) {
        self.protect_as(cpu, cpu.number(), page, rights, gone);
    }

    /// Like `protect`, for a CPU whose own page tables these are.
    pub(super) fn protect_as(&self, cpu: &Cpu<'m>, whose: CpuNumber, page: u64, rights: Rights, gone: &mut Gone) {
        let before = pinned(cpu, whose, || self.pmap().protect(VirtualPage(page), rights));
        if before.is_some_and(|before| !rights.allows(before.rights)) {
            gone.changed(page);
        }
    }
}

/// Runs with a CPU kept from answering shoot-downs.
fn pinned<R>(cpu: &Cpu<'_>, whose: CpuNumber, act: impl FnOnce() -> R) -> R {
    let _pinned = cpu.machine().pin(whose);
    act()
}

fn one(page: u64) -> PageRange {
    PageRange::new(VirtualPage(page), 1).expect("a page of the space")
}

/// Removed translations, tables and frames, until every CPU has forgotten them.
#[derive(Debug)]
pub(super) struct Gone {
    /// First and last page with a changed translation.
    changed: Option<(u64, u64)>,
    tables: RetiredTables,
    /// Frames without owners.
    pub(super) pages: Vec<u32>,
}

impl Gone {
    pub(super) fn new() -> Self {
        Gone { changed: None, tables: RetiredTables::default(), pages: Vec::new() }
    }

    fn changed(&mut self, page: u64) {
        let (first, last) = self.changed.unwrap_or((page, page));
        self.changed = Some((first.min(page), last.max(page)));
    }

    fn flushed(&mut self) -> Option<PageRange> {
        if self.changed.is_none() && PageTable::is_empty(&self.tables) {
            return None;
        }
        let (first, last) = self.changed.take().unwrap_or((0, 0));
        PageRange::new(VirtualPage(first), last - first + 1).ok()
    }

    /// Makes all CPUs on which the space is active forget, and then frees tables and frames.
    pub(super) fn finish(mut self, cpu: &Cpu<'_>, tables: &Tables<'_>) {
        if let Some(pages) = self.flushed() {
            let flush = tables.flush_of(pages);
            cpu.machine().flush(cpu.number(), &flush);
            let mut others = tables.active.others(cpu.number()).peekable();
            cpu.count(if others.peek().is_some() { Event::ShootDown } else { Event::LocalFlush });
            for other in others {
                cpu.count(Event::ShotCpu);
                cpu.machine().flush(other, &flush);
            }
        }
        tables.pmap().free(self.tables);
        self.pages.into_iter().for_each(|page| cpu.free_page(page));
    }

    /// Like `finish`, for page tables that only one CPU uses.
    pub(super) fn finish_as(mut self, cpu: &Cpu<'_>, whose: CpuNumber, tables: &Tables<'_>) {
        if let Some(pages) = self.flushed() {
            if whose == cpu.number() {
                cpu.count(Event::LocalFlush);
            } else {
                cpu.count(Event::ShotCpu);
            }
            cpu.machine().flush(whose, &tables.flush_of(pages));
        }
        tables.pmap().free(self.tables);
        self.pages.into_iter().for_each(|page| cpu.free_page(page));
    }
}
