//! A machine of threads: software page tables, and per-CPU software TLBs that keep stale
//! translations until a flush or a replacement, so that a missing shoot-down shows in the bytes
//! that a program reads.

mod page_table;

use crate::address::{PageRange, Rights, SPACE_PAGES, VirtualPage};
use crate::broken::Broken;
use crate::cpu_set::CpuSet;
use crate::error::NoMemory;
use crate::machine::{Flush, Machine, SpaceId};
use crate::primitive::{Held, Spin, try_slice};
use crate::space::Space;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;
use faultline_numbers::{CpuNumber, FrameNumber};

pub use page_table::{PageTable, RetiredTables};

/// A CPU. Its lock is held while it reads page tables and memory, and by [`Machine::pin`]. A
/// shoot-down takes the lock, so the CPU answers between two accesses.
#[derive(Debug)]
#[repr(align(128))]
struct HostedCpu(Spin<Tlb>);

const LINE_BYTES: usize = 64;

/// A machine whose CPUs are threads' handles and whose frames are bytes.
#[derive(Debug)]
pub struct Hosted {
    cpus: Box<[HostedCpu]>,
    bytes: FrameBytes,
    has_tables_of_each_cpu: bool,
    pages: PageRange,
    pause: Option<Pause>,
}

/// A call between two pieces of a long call.
pub struct Pause(pub Arc<dyn Fn(CpuNumber) + Send + Sync>);

impl fmt::Debug for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pause").finish_non_exhaustive()
    }
}

/// The default pages of a hosted machine's programs: addresses of 48 bits.
pub const PAGES: PageRange = PageRange::below(if SPACE_PAGES > 1 << 36 { 1 << 36 } else { SPACE_PAGES });

/// Contents of a hosted machine's frames. Clones share them, for pagers.
///
/// Accesses are relaxed and bytewise: a program with data races sees some order of them, as on a
/// machine.
#[derive(Debug, Clone)]
pub struct FrameBytes {
    first: FrameNumber,
    frame_bytes: usize,
    bytes: Arc<[AtomicU8]>,
    /// Offset of the first frame, aligned to a line, so that frames of 64 bytes or a multiple share
    /// no line.
    begin: usize,
}

impl FrameBytes {
    /// `frames` frames from `first` on, each of `frame_bytes` bytes.
    pub fn new(first: FrameNumber, frames: u64, frame_bytes: usize) -> Result<Self, NoMemory> {
        // Memory contents at power-on are unspecified.
        let bytes: Arc<[AtomicU8]> =
            try_slice(frames as usize * frame_bytes + LINE_BYTES, || AtomicU8::new(0xa5))?.into();
        let begin = bytes.as_ptr().addr().wrapping_neg() % LINE_BYTES;
        Ok(Self { first, frame_bytes, bytes, begin })
    }

    /// The bytes of a frame.
    pub fn frame(&self, frame: FrameNumber) -> &[AtomicU8] {
        let begin = self.begin + (frame.0 - self.first.0) as usize * self.frame_bytes;
        &self.bytes[begin..begin + self.frame_bytes]
    }

    /// Bytes per frame.
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Reads the beginning of a frame into `to`.
    pub fn read(&self, frame: FrameNumber, to: &mut [u8]) {
        to.iter_mut().zip(self.frame(frame)).for_each(|(to, from)| *to = from.load(Relaxed));
    }

    /// Writes the beginning of a frame.
    pub fn write(&self, frame: FrameNumber, from: &[u8]) {
        from.iter().zip(self.frame(frame)).for_each(|(from, to)| to.store(*from, Relaxed));
    }

    /// Fills a frame with zeroes.
    pub fn zero(&self, frame: FrameNumber) {
        self.frame(frame).iter().for_each(|byte| byte.store(0, Relaxed));
    }

    /// Copies a frame.
    pub fn copy(&self, from: FrameNumber, to: FrameNumber) {
        for (from, to) in self.frame(from).iter().zip(self.frame(to)) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }
}

/// Result of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Success, with the byte's previous value, also for a write.
    Done(u8),
    /// The page tables refuse the access: the CPU takes a fault.
    Fault,
}

impl Hosted {
    /// `cpus` CPUs and `frames` frames from `first` on, each of `frame_bytes` bytes.
    pub fn new(cpus: u32, first: FrameNumber, frames: u64, frame_bytes: usize) -> Result<Self, NoMemory> {
        Ok(Self {
            cpus: try_slice(cpus as usize, || HostedCpu(Spin::new(Tlb::new())))?,
            bytes: FrameBytes::new(first, frames, frame_bytes)?,
            has_tables_of_each_cpu: false,
            pages: PAGES,
            pause: None,
        })
    }

    /// Gives each CPU its own page tables of each space; the default is shared tables.
    pub fn with_tables_of_each_cpu(self) -> Self {
        Self { has_tables_of_each_cpu: true, ..self }
    }

    /// Gives programs these pages, and page tables the levels that they need; the default is
    /// [`PAGES`].
    pub fn with_pages(self, pages: PageRange) -> Self {
        Self { pages, ..self }
    }

    /// Calls `pause` where a CPU may run other threads; see [`Machine::pause`].
    pub fn with_pause(self, pause: Arc<dyn Fn(CpuNumber) + Send + Sync>) -> Self {
        Self { pause: Some(Pause(pause)), ..self }
    }

    /// The contents of the frames.
    pub fn bytes(&self) -> &FrameBytes {
        &self.bytes
    }

    #[inline]
    fn cpu(&self, cpu: CpuNumber) -> Held<'_, Tlb> {
        self.cpus[cpu.0 as usize].0.lock()
    }

    /// True if a TLB translates a page to this frame. The caller has no guard of `pin`.
    #[cfg(test)]
    pub(crate) fn is_translated(&self, frame: FrameNumber) -> bool {
        self.cpus.iter().any(|cpu| cpu.0.lock().has_frame(frame))
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
        let access = if write.is_some() { Rights::WRITE } else { Rights::READ };
        let mut tlb = self.cpu(cpu);
        let known = tlb.find(space.id(), page);
        if known.is_some_and(|entry| !entry.rights.allows(access)) {
            // As on real CPUs, a stale entry takes effect: the fault handler must flush it.
            return Outcome::Fault;
        }
        let known = known.filter(|entry| entry.dirty || write.is_none());
        let Some(entry) = known.or_else(|| {
            let found = space.pmap(cpu)?.walk(page, access)?;
            let dirty = found.dirty || write.is_some();
            let entry = Entry { space: space.id(), page, frame: found.frame, rights: found.rights, dirty };
            tlb.keep(entry);
            Some(entry)
        }) else {
            return Outcome::Fault;
        };
        let place = &self.bytes.frame(entry.frame)[byte];
        // Relaxed: see the type. Before the lock is released, so that a shoot-down waits for the
        // access.
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
    type Pinned<'a> = Pinned<'a>;

    #[inline]
    fn pin(&self, cpu: CpuNumber) -> Pinned<'_> {
        Pinned { _tlb: self.cpu(cpu) }
    }

    fn has_tables_of_each_cpu(&self) -> bool {
        self.has_tables_of_each_cpu
    }

    fn pages(&self) -> PageRange {
        self.pages
    }

    fn new_pmap(&self) -> Result<PageTable, NoMemory> {
        PageTable::try_new(self.pages)
    }

    fn flush(&self, cpu: CpuNumber, flush: &Flush) {
        self.cpu(cpu).forget(flush);
    }

    fn shoot(&self, cpus: &CpuSet, flush: &Flush) {
        cpus.iter().for_each(|cpu| self.cpu(cpu).forget(flush));
    }

    fn pause(&self, cpu: CpuNumber) {
        if let Some(Pause(pause)) = &self.pause {
            pause(cpu);
        }
    }

    fn zero(&self, frame: FrameNumber) {
        self.bytes.zero(frame);
    }

    fn broken(&self, broken: &Broken) {
        panic!("{broken}");
    }

    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        self.bytes.copy(from, to);
    }
}

/// A hosted CPU that answers no shoot-down.
#[derive(Debug)]
pub struct Pinned<'a> {
    _tlb: Held<'a, Tlb>,
}

/// Number of entries: few, so that some are replaced; enough to keep stale ones for a while.
const ENTRIES: usize = 64;

/// A translation.
#[derive(Debug, Clone, Copy)]
struct Entry {
    space: SpaceId,
    page: VirtualPage,
    frame: FrameNumber,
    rights: Rights,
    /// True if the dirty bit of the page-table entry was set through it. If not, a write walks the
    /// tables again.
    dirty: bool,
}

/// A TLB.
#[derive(Debug)]
struct Tlb([Option<Entry>; ENTRIES]);

impl Tlb {
    fn new() -> Self {
        Self([None; ENTRIES])
    }

    fn place(space: SpaceId, page: VirtualPage) -> usize {
        (page.0.wrapping_add(space.0.wrapping_mul(17)) % ENTRIES as u64) as usize
    }

    fn find(&self, space: SpaceId, page: VirtualPage) -> Option<Entry> {
        self.0[Self::place(space, page)].filter(|entry| entry.space == space && entry.page == page)
    }

    fn keep(&mut self, entry: Entry) {
        self.0[Self::place(entry.space, entry.page)] = Some(entry);
    }

    fn forget(&mut self, flush: &Flush) {
        let pages = flush.pages.begin()..flush.pages.end();
        for entry in &mut self.0 {
            if entry.is_some_and(|entry| entry.space == flush.space && pages.contains(&entry.page.0)) {
                *entry = None;
            }
        }
    }

    /// True if any page translates to the frame.
    #[cfg(test)]
    fn has_frame(&self, frame: FrameNumber) -> bool {
        self.0.iter().flatten().any(|entry| entry.frame == frame)
    }
}
