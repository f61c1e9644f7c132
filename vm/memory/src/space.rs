//! An address space: its tree, its page tables, and the CPUs that it is active on. What is done with it is in `change`, `fault`
//! and `fork`.

use crate::address::PageRange;
use crate::cpu_set::ActiveCpus;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{Flush, FrameSource, Machine, SpaceId};
use crate::memory::{Cpu, Memory};
use crate::tree::Tree;

/// An address space. Fields: \[I] immutable; \[l] locked by the slots of the tree; \[p] each entry by its slot's lock, and its
/// accessed and dirty bits by the hardware; \[a] written by each CPU for itself.
///
/// It ends by [`Cpu::exit`]: one that is dropped leaks its frames.
#[derive(Debug)]
pub struct Space<'m, M: Machine> {
    /// \[I]
    pub(crate) memory: &'m Memory<M>,
    /// \[I]
    pub(crate) id: SpaceId,
    /// \[l]
    pub(crate) tree: Tree,
    /// \[p]
    pub(crate) pmap: M::Pmap,
    /// \[a]
    pub(crate) active: ActiveCpus,
}

impl<M: Machine> Space<'_, M> {
    /// Its number, under which TLBs know it.
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its page tables, for the hardware.
    pub fn pmap(&self) -> &M::Pmap {
        &self.pmap
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// A space without mappings, active on no CPU.
    pub fn new_space(&self) -> Result<Space<'m, M>, NoMemory> {
        Ok(Space {
            memory: self.memory,
            id: SpaceId(self.next_space()),
            tree: Tree::new(),
            pmap: self.memory.machine.new_pmap()?,
            active: ActiveCpus::new(),
        })
    }

    /// Makes a space active on this CPU: before the hardware uses its page tables, and before any call with it. A CPU may have
    /// several active spaces, if its TLB tells them apart.
    pub fn activate(&self, space: &Space<'m, M>) -> Result<(), SpaceError> {
        if !core::ptr::eq(space.memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        space.active.enter(self.number);
        Ok(())
    }

    /// Ends that: when the hardware no longer uses its page tables. The CPU's TLB forgets the space, so that no shoot-down of it
    /// need reach this CPU.
    pub fn deactivate(&self, space: &Space<'m, M>) {
        self.machine().flush(self.number, &Flush { space: space.id, pages: PageRange::ALL });
        space.active.leave(self.number);
    }

    pub(crate) fn check_active(&self, space: &Space<'m, M>) -> Result<(), SpaceError> {
        if space.active.has(self.number) && core::ptr::eq(space.memory, self.memory) {
            Ok(())
        } else {
            Err(SpaceError::NotActive)
        }
    }
}
