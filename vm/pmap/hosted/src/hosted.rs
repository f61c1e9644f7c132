//! A machine of threads: per-CPU TLBs that keep stale translations until a flush or a replacement,
//! large ones too, filled by the walkers; and caches of the tables on the way, which a table that
//! is freed must have left. `FAULTLINE_TABLES` names the page tables; default: `x86-64`.

pub use crate::tables::PageTable;
use crate::tables::Pool;
use crate::walkers::Access;
use crate::{Broken, CpuNumber, CpuSet, Flush, FrameNumber, Machine, NoMemory, PageRange, Space, SpaceId, VirtualPage};
pub use memory::hosted::{FrameBytes, Outcome, PAGES, Pause};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};

/// Tables of a machine: more than any test needs at once.
const TABLES: usize = if cfg!(miri) { 256 } else { 1 << 15 };
/// Entries of a TLB: few, so that some are replaced; enough to keep stale ones for a while.
const ENTRIES: usize = 64;

/// A machine whose CPUs are threads' handles and whose frames are bytes.
#[derive(Debug)]
pub struct Hosted {
    bytes: FrameBytes,
    cpus: Vec<Mutex<Tlb>>,
    pool: Pool,
    name: String,
    has_tables_of_each_cpu: bool,
    pages: PageRange,
    pause: Option<Pause>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    space: SpaceId,
    /// First page and number of pages.
    pages: (u64, u64),
    frame: FrameNumber,
    can: [bool; 3],
    is_dirty: bool,
}

/// A TLB. Locked by `pin`: the CPU then answers no shoot-down.
#[derive(Debug)]
pub struct Tlb {
    entries: [Option<Entry>; ENTRIES],
    /// Place that was replaced last.
    next: usize,
}

impl Tlb {
    fn new() -> Mutex<Self> {
        Mutex::new(Self { entries: [None; ENTRIES], next: 0 })
    }

    /// Of a small and a large translation of the page, any.
    fn find(&self, space: SpaceId, page: u64) -> Option<&Entry> {
        let is_of = |entry: &&Entry| entry.space == space && page.wrapping_sub(entry.pages.0) < entry.pages.1;
        self.entries.iter().flatten().find(is_of)
    }

    fn keep(&mut self, entry: Entry) {
        let of_page = |old: &Option<Entry>| old.is_some_and(|old| old.space == entry.space && old.pages == entry.pages);
        let place = self.entries.iter().position(of_page);
        let place = place.unwrap_or_else(|| {
            self.next = (self.next + 1) % ENTRIES;
            self.next
        });
        self.entries[place] = Some(entry);
    }

    fn forget(&mut self, flush: &Flush) {
        let (first, end) = (flush.pages.first().0, flush.pages.first().0 + flush.pages.pages());
        for entry in &mut self.entries {
            let meets = |entry: Entry| entry.pages.0 < end && first < entry.pages.0 + entry.pages.1;
            if entry.is_some_and(|entry| entry.space == flush.space && meets(entry)) {
                *entry = None;
            }
        }
    }
}

impl Hosted {
    /// `cpus` CPUs and `frames` frames from `first` on, each of `frame_bytes` bytes.
    pub fn new(cpus: u32, first: FrameNumber, frames: u64, frame_bytes: usize) -> Result<Self, NoMemory> {
        Ok(Self {
            bytes: FrameBytes::new(first, frames, frame_bytes)?,
            cpus: (0..cpus).map(|_| Tlb::new()).collect(),
            pool: Pool::new(TABLES),
            name: std::env::var("FAULTLINE_TABLES").unwrap_or_else(|_| "x86-64".to_owned()),
            has_tables_of_each_cpu: false,
            pages: PAGES,
            pause: None,
        })
    }

    /// Gives each CPU its own page tables of each space; the default is shared tables.
    pub fn with_tables_of_each_cpu(self) -> Self {
        Self { has_tables_of_each_cpu: true, ..self }
    }

    /// Gives programs these pages; the default is [`PAGES`].
    pub fn with_pages(self, pages: PageRange) -> Self {
        Self { pages, ..self }
    }

    /// Calls `pause` where a CPU may run other threads.
    pub fn with_pause(self, pause: Arc<dyn Fn(CpuNumber) + Send + Sync>) -> Self {
        Self { pause: Some(Pause(pause)), ..self }
    }

    /// The contents of the frames.
    pub fn bytes(&self) -> &FrameBytes {
        &self.bytes
    }

    fn cpu(&self, cpu: CpuNumber) -> MutexGuard<'_, Tlb> {
        self.cpus[cpu.0 as usize].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A program's access to a byte, on a CPU where the space is active: writes `write` if given,
    /// reads otherwise.
    pub fn access(
        &self,
        cpu: CpuNumber,
        space: &Space<'_, Self>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome {
        let access = Access { writes: write.is_some(), fetches: false, is_user: true };
        let mut tlb = self.cpu(cpu);
        let known = tlb.find(space.id(), page.0).copied();
        if known.is_some_and(|entry| !entry.can[usize::from(access.writes)]) {
            // As on real CPUs, a stale entry takes effect: the fault handler must flush it.
            return Outcome::Fault;
        }
        let entry = match known.filter(|entry| entry.is_dirty || !access.writes) {
            Some(entry) => entry,
            None => {
                let Some(Ok(found)) = space.pmap(cpu).map(|pmap| pmap.walk_on(cpu, space.id(), page, access)) else {
                    return Outcome::Fault;
                };
                let pages = found.bytes / 4096;
                let offset = page.0 % pages;
                let entry = Entry {
                    space: space.id(),
                    pages: (page.0 - offset, pages),
                    frame: FrameNumber(found.address / 4096 - offset),
                    can: [found.reads, found.writes, found.fetches],
                    is_dirty: found.is_dirty,
                };
                tlb.keep(entry);
                entry
            }
        };
        let frame = FrameNumber(entry.frame.0 + (page.0 - entry.pages.0));
        let place = &self.bytes.frame(frame)[byte];
        // Relaxed: programs with data races see some order of accesses. Before the lock is
        // released, so that a shoot-down waits for the access.
        let before = place.load(Relaxed);
        if let Some(value) = write {
            place.store(value, Relaxed);
        }
        Outcome::Done(before)
    }
}

// SAFETY: 1. `shoot` takes each CPU's lock, which its guards hold, and empties its TLB of these
// pages; an access between a page-table entry's change and the shoot-down is over by then. 2. So
// does `flush`. 3. They write one frame's bytes.
unsafe impl Machine for Hosted {
    type Pmap = PageTable;
    type Pinned<'a> = MutexGuard<'a, Tlb>;

    fn pin(&self, cpu: CpuNumber) -> MutexGuard<'_, Tlb> {
        self.cpu(cpu)
    }

    fn has_tables_of_each_cpu(&self) -> bool {
        self.has_tables_of_each_cpu
    }

    fn pages(&self) -> PageRange {
        self.pages
    }

    fn new_pmap(&self) -> Result<PageTable, NoMemory> {
        // Other machines have too few levels for pages beyond these.
        let end = self.pages.first().0 + self.pages.pages();
        PageTable::new(if end > 1 << 36 { "x86-64-la57" } else { &self.name }, self.pool.clone())
    }

    fn flush(&self, cpu: CpuNumber, flush: &Flush) {
        let mut tlb = self.cpu(cpu);
        tlb.forget(flush);
        self.pool.flush(cpu, flush);
    }

    fn shoot(&self, cpus: &CpuSet, flush: &Flush) {
        cpus.iter().for_each(|cpu| self.flush(cpu, flush));
    }

    fn pause(&self, cpu: CpuNumber) {
        if let Some(Pause(pause)) = &self.pause {
            pause(cpu);
        }
    }

    fn zero(&self, frame: FrameNumber) {
        self.bytes.zero(frame);
    }

    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        self.bytes.copy(from, to);
    }

    fn broken(&self, broken: &Broken) {
        panic!("{broken}");
    }
}
