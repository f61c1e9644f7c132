//! Memory systems from the literature and our own, behind one trait, for comparison and study: the
//! part above the page frames.
//!
//! Each treats shared lines and locks as its source does, as far as a fault, a change of a map, a
//! fork or an exit writes them. The comment at the top of its file names the source and lists what
//! is left out; the two of DragonFly are skeletons. All take frames from `faultline-frames`, and
//! share the page tables and TLBs of `vm/memory`'s hosted machine, so that they differ in nothing
//! else.
//!
//! | design | year | lookup of a page | cost of a mapping | copy on write |
//! |---|---|---|---|---|
//! | [`OneToken`] | 2010 | one token for everything | entry in two lists | shadow objects |
//! | [`Backings`] | 2019 | map lock, then a hash | none | list of objects per map entry |
//! | [`Radix`] | 2013 | the page's slot | page tables per CPU | owners of each page |
//! | [`Ours`] | – | the page's slot | none | owners of each page |
//!
//! None reclaims: there are no page queues. docs/MEMORY-DESIGNS.md has the measured figures.

mod backings;
mod map;
mod one_token;
mod ours;
mod radix;
mod tables;

use crate::Metadata;
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea, Policy};
use faultline_memory::hosted::{Hosted, Outcome};
use faultline_memory::{
    CpuNumber, Event, FaultError, FrameNumber, FrameSource, Machine, Memory, NoMemory, PageRange, Rights, SpaceError,
    VirtualPage,
};
use std::cell::Cell;
use std::error::Error;

pub use backings::Backings;
pub use one_token::OneToken;
pub use ours::{Ours, OursShared};
pub use radix::Radix;

/// Result of a change of a space.
pub type Changed = Result<(), SpaceError>;

/// A memory system, for the CPUs of one hosted machine.
///
/// The calls are those of `faultline_memory::Cpu`, described there; each is made through the
/// calling CPU's handle. All handles are of the machine that the system was made for, and the
/// spaces and objects are its own.
pub trait System: Sync + Sized {
    /// Name in tables and arguments.
    const NAME: &'static str;

    /// The year of its source.
    const YEAR: &'static str;

    /// True if the machine gives each CPU its own page tables of each space
    /// (`Machine::has_tables_of_each_cpu`).
    const HAS_TABLES_OF_EACH_CPU: bool = false;

    /// An address space. Ended by [`exit`](System::exit).
    type Space<'m>: Send + Sync;

    /// A zero-fill object that spaces share. A handle is ended by
    /// [`drop_object`](System::drop_object).
    type Object<'m>: Send + Sync;

    /// A system for `cpus` CPUs and frames whose indices are below `frames`.
    fn new(cpus: u32, frames: u32) -> Self;

    /// A space without mappings, active on no CPU.
    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<Self::Space<'m>, NoMemory>;

    /// Makes a space active on the CPU. Required before the CPU makes other calls with it.
    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>) -> Changed;

    /// Makes a space inactive on the CPU.
    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>);

    /// Enables large pages for faults in a space, if the design has any; disabled by default.
    fn set_large_pages<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, are_made: bool) {
        let _ = (cpu, space, are_made);
    }

    /// Maps private zero-fill memory, replacing existing mappings.
    fn map<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange, rights: Rights) -> Changed;

    /// Maps an object from its page `first` on, replacing existing mappings. Fails if the range
    /// goes beyond the object's end.
    fn map_object<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        range: PageRange,
        rights: Rights,
        object: &Self::Object<'m>,
        first: u64,
    ) -> Changed;

    /// Unmaps a range, which may have holes.
    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange) -> Changed;

    /// Changes the rights of a range. Fails if it has a hole; then nothing changes.
    fn protect<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange, rights: Rights) -> Changed;

    /// Discards the contents of private pages: they read as zeroes. The range may have holes.
    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange) -> Changed;

    /// Resolves a fault.
    fn fault<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<(), FaultError>;

    /// Makes a space with the same mappings and contents, active on no CPU.
    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>) -> Result<Self::Space<'m>, SpaceError>;

    /// Ends a space. Fails if it is active on a CPU; then its memory is lost.
    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Self::Space<'m>) -> Changed;

    /// An object of this many pages.
    fn new_object<'m>(&self, cpu: &Cpu<'m>, pages: u64) -> Result<Self::Object<'m>, NoMemory>;

    /// Ends a handle. After the last handle and the last mapping the object's frames are free.
    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: Self::Object<'m>);

    /// A program's access to a byte: see `Hosted::access`.
    fn access<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome;
}

/// Error of setting up a machine.
pub type Refused = Box<dyn Error + Send + Sync>;

/// Parameters of a machine.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of CPUs, 1 to 256.
    pub cpus: u32,
    /// Number of frames, a multiple of 64.
    pub frames: u64,
    /// Bytes per frame that the machine really has.
    pub frame_bytes: usize,
    /// Cache policy of the frame allocator.
    pub policy: Policy,
}

const FIRST: FrameNumber = FrameNumber(0x200);

/// Runs with a system and the CPUs of a fresh machine. Also returns the number of free frames at
/// the end.
pub fn on_machine<S: System, R>(shape: &Shape, run: impl FnOnce(&S, Vec<Cpu<'_>>) -> R) -> Result<(R, u64), Refused> {
    let &Shape { cpus, frames, frame_bytes, policy } = shape;
    let area = [MemoryArea { first: FIRST, frames, domain: DomainId(0) }];
    let domains = vec![DomainId(0); cpus as usize];
    let config = Config::new(&area, &domains).with_policy(policy);
    let mut metadata = Metadata::new(Frames::layout(&config)?);
    // SAFETY: 1. Lent once. 2. The allocator ends before it.
    let allocator = Frames::new(&config, unsafe { metadata.lend() }, ())?;
    let mut machine = Hosted::new(cpus, FIRST, frames, frame_bytes)?;
    if S::HAS_TABLES_OF_EACH_CPU {
        machine = machine.with_tables_of_each_cpu();
    }
    let memory = Memory::new(machine, cpus, allocator.index_count())?;
    let system = S::new(cpus, allocator.index_count());
    let cpu = |number| {
        // SAFETY: each number has one handle.
        let frames = allocator.on(unsafe { FixedCpu::new(number) });
        // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the
        // machine has as many.
        unsafe { memory.cpu(number, frames) }.map(Cpu::new)
    };
    let result = run(&system, (0..cpus).filter_map(|number| cpu(CpuNumber(number))).collect());
    Ok((result, allocator.free()))
}

/// `vm/memory`'s own handle of a CPU.
pub(super) type HostCpu<'m> = faultline_memory::Cpu<'m, Hosted, Frames<'m, FixedCpu>>;

const EVENTS: usize = Event::ALL.len();

/// A CPU's handle, on lines of its own. It can be sent to another thread, but not shared.
#[derive(Debug)]
#[repr(align(128))]
pub struct Cpu<'m> {
    host: HostCpu<'m>,
    counts: [Cell<u64>; EVENTS],
}

impl<'m> Cpu<'m> {
    /// From the handle of `vm/memory`; other designs than ours use only its machine and frames.
    pub fn new(host: HostCpu<'m>) -> Self {
        Cpu { host, counts: [const { Cell::new(0) }; EVENTS] }
    }

    /// The handle of `vm/memory`.
    pub(super) fn host(&self) -> &HostCpu<'m> {
        &self.host
    }

    /// Its number.
    pub fn number(&self) -> CpuNumber {
        self.host.number()
    }

    /// The frames that its faults take.
    pub fn frames(&self) -> &Frames<'m, FixedCpu> {
        self.host.frames()
    }

    /// The machine.
    pub(super) fn machine(&self) -> &'m Hosted {
        self.host.memory().machine()
    }

    pub(super) fn count(&self, event: Event) {
        let count = &self.counts[event as usize];
        count.set(count.get() + 1);
    }

    /// The count of each event on this CPU, in the order of `Event::ALL`.
    pub fn counted(&self) -> [u64; EVENTS] {
        let ours = self.host.memory().counters_of(self.number()).expect("the CPU of this handle");
        Event::ALL.map(|event| ours.of(event) + self.counts[event as usize].get())
    }

    /// The frame of an index.
    pub(super) fn frame(&self, page: u32) -> FrameNumber {
        self.frames().frame_at(page).expect("the index of a frame that was got")
    }

    /// The index of a new frame of zeroes.
    pub(super) fn zeroed_page(&self) -> Result<u32, NoMemory> {
        let frame = FrameSource::get(self.frames())?;
        if !frame.zeroed {
            self.machine().zero(frame.number);
        }
        Ok(self.frames().index_of(frame.number).expect("a frame that was got has an index"))
    }

    /// The index of a new frame with the contents of another.
    pub(super) fn copied_page(&self, page: u32) -> Result<u32, NoMemory> {
        let frame = FrameSource::get(self.frames())?.number;
        self.machine().copy(self.frame(page), frame);
        Ok(self.frames().index_of(frame).expect("a frame that was got has an index"))
    }

    /// Frees a frame that no TLB translates to.
    pub(super) fn free_page(&self, page: u32) {
        self.count(Event::FreedFrame);
        FrameSource::put(self.frames(), &[self.frame(page)]);
    }
}
