//! Defines a memory system: the trait that all designs implement.

use super::cpu::Cpu;
use faultline_memory::hosted::Outcome;
use faultline_memory::{FaultError, NoMemory, PageRange, Rights, SpaceError, VirtualPage};

/// A memory system, for the CPUs of one hosted machine.
///
/// The calls are those of `faultline_memory::Cpu`, where they are described; each is made through the calling CPU's handle. All handles
/// that one system is called with are of the machine that it was made for, and the spaces and objects are its own.
pub trait System: Sync + Sized {
    /// Name in tables and arguments.
    const NAME: &'static str;

    /// The year of its source.
    const YEAR: &'static str;

    /// Whether the machine gives each CPU page tables of its own of each space (`Machine::has_tables_of_each_cpu`).
    const HAS_TABLES_OF_EACH_CPU: bool = false;

    /// An address space. It ends by [`exit`](System::exit).
    type Space<'m>: Send + Sync;

    /// An object of zeroes that spaces share. A handle ends by [`drop_object`](System::drop_object).
    type Object<'m>: Send + Sync;

    /// A system for `cpus` CPUs and frames whose indices are below `frames`.
    fn new(cpus: u32, frames: u32) -> Self;

    /// A space without mappings, active on no CPU.
    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<Self::Space<'m>, NoMemory>;

    /// Makes a space active on the CPU. Only then may the CPU be used for other calls with it.
    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>) -> Result<(), SpaceError>;

    /// Ends that.
    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>);

    /// Says whether faults make large pages in a space, if the design has any: false if it is not said.
    fn set_large_pages<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, are_made: bool) {
        let _ = (cpu, space, are_made);
    }

    /// Maps private memory of zeroes in place of what was there.
    fn map<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        range: PageRange,
        rights: Rights,
    ) -> Result<(), SpaceError>;

    /// Maps an object from its page `first` on, in place of what was there. Fails if the range goes beyond the object's end.
    fn map_object<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        range: PageRange,
        rights: Rights,
        object: &Self::Object<'m>,
        first: u64,
    ) -> Result<(), SpaceError>;

    /// Unmaps a range, in which there may be holes.
    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange) -> Result<(), SpaceError>;

    /// Changes what may be done with a range. Fails if there is a hole in it; then nothing is changed.
    fn protect<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        range: PageRange,
        rights: Rights,
    ) -> Result<(), SpaceError>;

    /// Gives the contents of private pages up: they are zeroes again. There may be holes in the range.
    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>, range: PageRange) -> Result<(), SpaceError>;

    /// Resolves a fault.
    fn fault<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Self::Space<'m>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<(), FaultError>;

    /// A space with the same mappings and contents, active on no CPU.
    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Self::Space<'m>) -> Result<Self::Space<'m>, SpaceError>;

    /// Ends a space. Fails if it is active on a CPU; then its memory is lost.
    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Self::Space<'m>) -> Result<(), SpaceError>;

    /// An object of this many pages.
    fn new_object<'m>(&self, cpu: &Cpu<'m>, pages: u64) -> Result<Self::Object<'m>, NoMemory>;

    /// Gives a handle up. After the last handle and the last mapping the object's frames are free.
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
