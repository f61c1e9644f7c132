//! A machine's memory, shared by its CPUs, and a CPU's handle, through which all calls are made.

use crate::broken::Broken;
use crate::counters::{Counters, CpuCounts, Event, Hints};
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::object::pager::Pager;
use crate::page_record::{Home, PageRecord};
use crate::page_word::{PageState, PageStep, PageWord};
use crate::primitive::try_slice;
use crate::swap::SwapArea;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::Cell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use faultline_numbers::{CpuNumber, FrameNumber};

/// A CPU's part, on lines of its own. Fields: \[c] written by the CPU.
#[derive(Debug)]
struct CpuPart {
    /// \[c]
    counts: CpuCounts,
    /// \[c] Number of spaces made by the CPU. Relaxed: used by it alone.
    spaces: AtomicU64,
    /// \[c]
    hints: Hints,
}

/// The memory of a machine. Fields: \[I] immutable; \[a] see `PageWord`; \[c] see `CpuPart`.
#[derive(Debug)]
pub struct Memory<M> {
    /// \[I]
    pub(crate) machine: M,
    /// \[a] \[b] The records of frames, by their indices.
    pages: Box<[PageRecord]>,
    /// \[a] \[b] In place of the record of an index that has none.
    no_page: PageRecord,
    /// \[I] Destination of anonymous memory when frames are short.
    swap: Option<SwapArea>,
    /// \[c]
    cpus: Box<[CpuPart]>,
}

impl<M: Machine> Memory<M> {
    /// For `cpus` CPUs, and frames whose indices are below `frames`: see
    /// [`FrameSource::index_count`]. Takes 32 bytes for each frame. Fails with
    /// [`SpaceError::TooManyCpus`] for more than [`MOST_CPUS`](crate::MOST_CPUS).
    pub fn new(machine: M, cpus: u32, frames: u32) -> Result<Self, SpaceError> {
        let cpus = cpus as usize;
        if cpus > crate::cpu_set::MOST_CPUS {
            return Err(SpaceError::TooManyCpus);
        }
        Ok(Self {
            machine,
            pages: try_slice(frames as usize, PageRecord::new)?,
            no_page: PageRecord::new(),
            swap: None,
            cpus: try_slice(cpus, || CpuPart {
                counts: CpuCounts::new(),
                spaces: AtomicU64::new(0),
                hints: Hints::new(),
            })?,
        })
    }

    /// Adds a swap area: a pager's pages from 0 on. Takes 4 bytes per page.
    pub fn with_swap(self, pager: Arc<dyn Pager>, pages: u32) -> Result<Self, NoMemory> {
        Ok(Self { swap: Some(SwapArea::new(pager, pages)?), ..self })
    }

    /// Number of used pages of the swap area.
    pub fn swapped(&self) -> u64 {
        self.swap.as_ref().map_or(0, SwapArea::taken)
    }

    /// The handle of a CPU. `None` if there is no CPU with this number.
    ///
    /// # Safety
    /// 1. At a time there is one handle with this number.
    /// 2. All handles' frames come from the same allocator, and the machine's `zero` and `copy`
    ///    know them.
    pub unsafe fn cpu<F: FrameSource>(&self, number: CpuNumber, frames: F) -> Option<Cpu<'_, M, F>> {
        let part = self.cpus.get(number.0 as usize)?;
        Some(Cpu { memory: self, number, frames, part, not_shared: PhantomData })
    }

    /// Number of CPUs.
    pub(crate) fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Counts of all CPUs.
    pub fn counters(&self) -> Counters {
        self.cpus.iter().fold(Counters::NONE, |sum, cpu| sum.plus(&cpu.counts.read()))
    }

    /// Counts of a CPU.
    pub fn counters_of(&self, number: CpuNumber) -> Option<Counters> {
        self.cpus.get(number.0 as usize).map(|cpu| cpu.counts.read())
    }

    /// The state of a frame's page.
    pub fn page_state(&self, index: u32) -> Option<PageState> {
        self.pages.get(index as usize).map(|page| page.word.state())
    }

    /// A number that tells this memory from others.
    pub(crate) fn identity(&self) -> usize {
        self.pages.as_ptr().addr()
    }
}

/// The number of a frame that no machine has, in place of one that the source does not know.
const NO_FRAME: FrameNumber = FrameNumber(u64::MAX >> 12);

/// A CPU's handle. It can be sent to another thread, but not shared.
#[derive(Debug)]
pub struct Cpu<'m, M, F> {
    pub(crate) memory: &'m Memory<M>,
    pub(crate) number: CpuNumber,
    pub(crate) frames: F,
    part: &'m CpuPart,
    // Makes the handle `!Sync`, like the cell.
    not_shared: PhantomData<Cell<u32>>,
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// The memory that the CPU belongs to.
    pub fn memory(&self) -> &'m Memory<M> {
        self.memory
    }

    /// The CPU's number.
    pub fn number(&self) -> CpuNumber {
        self.number
    }

    /// The source of the CPU's frames.
    pub fn frames(&self) -> &F {
        &self.frames
    }

    #[inline]
    pub(crate) fn count(&self, event: Event) {
        self.part.counts.add(event, 1);
    }

    pub(crate) fn add(&self, event: Event, count: u64) {
        self.part.counts.add(event, count);
    }

    pub(crate) fn machine(&self) -> &M {
        &self.memory.machine
    }

    /// Keeps this CPU from answering shoot-downs.
    pub(crate) fn pin(&self) -> M::Pinned<'_> {
        self.memory.machine.pin(self.number)
    }

    pub(crate) fn hints(&self) -> &'m Hints {
        &self.part.hints
    }

    /// A number that no other space has had.
    pub(crate) fn next_space(&self) -> u64 {
        let made = self.part.spaces.load(Relaxed);
        self.part.spaces.store(made + 1, Relaxed);
        made * crate::cpu_set::MOST_CPUS as u64 + u64::from(self.number.0)
    }

    pub(crate) fn record(&self, page: u32) -> &'m PageRecord {
        match self.memory.pages.get(page as usize) {
            Some(record) => record,
            None => {
                self.broken(Broken::NoFrame(page));
                &self.memory.no_page
            }
        }
    }

    pub(crate) fn word(&self, page: u32) -> &'m PageWord {
        &self.record(page).word
    }

    pub(crate) fn swap(&self) -> Option<&'m SwapArea> {
        self.memory.swap.as_ref()
    }

    /// Releases a slot of the swap area.
    pub(crate) fn release_swap(&self, slot: u32) {
        if self.swap().is_none_or(|area| !area.release(slot)) {
            self.broken(Broken::SwapSlot(slot));
        }
    }

    /// Adds an owner to a slot of the swap area.
    pub(crate) fn share_swap(&self, slot: u32) {
        if self.swap().is_none_or(|area| !area.share(slot)) {
            self.broken(Broken::SwapSlot(slot));
        }
    }

    /// Counts and reports a broken invariant.
    #[cold]
    #[inline(never)]
    pub(crate) fn broken(&self, broken: Broken) {
        self.count(Event::Broken);
        self.machine().broken(&broken);
    }

    #[inline]
    pub(crate) fn frame(&self, page: u32) -> FrameNumber {
        match self.frames.frame_at(page) {
            Some(frame) => frame,
            None => {
                self.broken(Broken::NoFrame(page));
                NO_FRAME
            }
        }
    }

    /// A new page that is being filled: busy, with one owner. Also returns whether it is zeroed.
    pub(crate) fn claim(&self, home: Home, place: u64) -> Result<(u32, bool), NoMemory> {
        let frame = self.frames.get()?;
        let page = self.index(frame.number)?;
        self.claim_given(page, home, place)?;
        Ok((page, frame.zeroed))
    }

    /// Like `claim`, with a frame from the source. Fails, and leaves the frame to its owners, if it
    /// has any.
    pub(crate) fn claim_given(&self, page: u32, home: Home, place: u64) -> Result<(), NoMemory> {
        let record = self.record(page);
        if let Err(state) = record.word.step(PageStep::Claim) {
            self.broken(Broken::GivenTwice { page, state });
            return Err(NoMemory);
        }
        record.set_home(home, place);
        Ok(())
    }

    /// The index of a frame from the source.
    pub(crate) fn index(&self, frame: FrameNumber) -> Result<u32, NoMemory> {
        let index = self.frames.index_of(frame).filter(|page| (*page as usize) < self.memory.pages.len());
        if index.is_none() {
            self.broken(Broken::NoIndex(frame));
        }
        index.ok_or(NoMemory)
    }

    /// Releases an owner of a page that no TLB translates to because of this owner. After the last
    /// owner its frame is free. The caller has no guard of `pin`.
    pub(crate) fn release_now(&self, page: u32) {
        match self.word(page).release() {
            Ok(true) => self.free(page),
            Ok(false) => {}
            Err(state) => self.broken(Broken::Step { page, step: PageStep::Release, state }),
        }
    }

    /// Frees the frame of a page without owners.
    fn free(&self, page: u32) {
        let record = self.record(page);
        // The page has no other user, and its frame is not free yet.
        if let Some(slot) = record.swap() {
            record.set_swap(None);
            self.release_swap(slot);
        }
        self.count(Event::FreedFrame);
        let frame = self.frame(page);
        if !self.frames.put(&[frame]) {
            self.broken(Broken::Refused(frame));
        }
    }

    /// Ends a busy page's exclusive use, by `Filled`, `Failed` or `Unbusy`.
    #[inline(always)]
    pub(crate) fn let_go(&self, page: u32, step: PageStep) {
        match self.word(page).let_go(step) {
            Ok(true) => self.free(page),
            Ok(false) => {}
            Err(state) => self.broken(Broken::Step { page, step, state }),
        }
    }

    /// Makes a step that the state allows.
    pub(crate) fn expect_step(&self, page: u32, step: PageStep) {
        if let Err(state) = self.word(page).step(step) {
            self.broken(Broken::Step { page, step, state });
        }
    }
}
