//! Our own: `faultline-memory`.

use crate::systems::{Changed, Cpu, System};
use faultline_memory::hosted::{Hosted, Outcome};
use faultline_memory::{FaultError, MemoryObject, NoMemory, PageRange, Rights, Space, SpaceError, VirtualPage};

/// Our own memory system: all its state is in the `Memory` of a [`Cpu`]'s handle.
#[derive(Debug)]
pub struct OursWith<const TABLES_OF_EACH_CPU: bool>;

type OurSpace<'m> = Space<'m, Hosted>;

/// With page tables for each CPU.
pub type Ours = OursWith<true>;

/// With page tables that all CPUs share.
pub type OursShared = OursWith<false>;

impl<const TABLES_OF_EACH_CPU: bool> System for OursWith<TABLES_OF_EACH_CPU> {
    const NAME: &'static str = if TABLES_OF_EACH_CPU { "ours" } else { "ours-shared" };
    const YEAR: &'static str = "–";
    const HAS_TABLES_OF_EACH_CPU: bool = TABLES_OF_EACH_CPU;

    type Space<'m> = OurSpace<'m>;
    type Object<'m> = MemoryObject<'m, Hosted>;

    fn new(_cpus: u32, _frames: u32) -> Self {
        OursWith
    }

    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<OurSpace<'m>, NoMemory> {
        // Page by page, like the other designs.
        cpu.host().new_space().inspect(|space| cpu.host().set_large_pages(space, false))
    }

    fn set_large_pages<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>, are_made: bool) {
        cpu.host().set_large_pages(space, are_made);
    }

    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>) -> Changed {
        cpu.host().activate(space)
    }

    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>) {
        cpu.host().deactivate(space);
    }

    fn map<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>, range: PageRange, rights: Rights) -> Changed {
        cpu.host().map(space, range, rights)
    }

    fn map_object<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &OurSpace<'m>,
        range: PageRange,
        rights: Rights,
        object: &MemoryObject<'m, Hosted>,
        first: u64,
    ) -> Changed {
        cpu.host().map_object(space, range, rights, object, first)
    }

    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>, range: PageRange) -> Changed {
        cpu.host().unmap(space, range)
    }

    fn protect<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>, range: PageRange, rights: Rights) -> Changed {
        cpu.host().protect(space, range, rights)
    }

    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>, range: PageRange) -> Changed {
        cpu.host().dont_need(space, range)
    }

    fn fault<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &OurSpace<'m>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<(), FaultError> {
        cpu.host().fault(space, page, access)
    }

    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &OurSpace<'m>) -> Result<OurSpace<'m>, SpaceError> {
        cpu.host().fork(space)
    }

    fn exit<'m>(&self, cpu: &Cpu<'m>, space: OurSpace<'m>) -> Changed {
        cpu.host().exit(space).map_err(|(_, error)| error)
    }

    fn new_object<'m>(&self, cpu: &Cpu<'m>, pages: u64) -> Result<MemoryObject<'m, Hosted>, NoMemory> {
        cpu.host().new_object(pages)
    }

    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: MemoryObject<'m, Hosted>) {
        cpu.host().drop_object(object);
    }

    fn access<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &OurSpace<'m>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome {
        cpu.machine().access(cpu.number(), space, page, byte, write)
    }
}
