//! An address space: its tree, its page tables, the CPUs that it is active on, and its family. What is done with it is in `change`,
//! `fault` and `fork`.

use crate::address::PageRange;
use crate::allocation::try_box_with;
use crate::counted::Counted;
use crate::cpu_set::ActiveCpus;
use crate::error::{NoMemory, SpaceError};
use crate::family::{Family, Member};
use crate::machine::{Flush, FrameSource, Machine, SpaceId};
use crate::memory::{Cpu, Memory};
use crate::own_tables::OwnPlace;
use crate::primitive::AtomicBool;
use crate::tree::Tree;
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use faultline_numbers::CpuNumber;

/// Up to how many pages a stack of a new space grows: 8 MiB.
const STACK_LIMIT: u64 = 2048;

/// What a space consists of. Fields: \[I] immutable; \[l] locked by the slots of the tree; \[p] each entry by its slot's lock, and its
/// accessed and dirty bits by the hardware; \[a] written by each CPU for itself; \[f] by the family's lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SpaceBody<'m, M: Machine> {
    /// \[f] First, so that a member's address is its space's.
    member: Member,
    /// \[I]
    pub(crate) family: Counted<Family>,
    /// \[I]
    pub(crate) memory: &'m Memory<M>,
    /// \[I]
    pub(crate) id: SpaceId,
    /// \[a] Up to how many pages a stack grows. Relaxed: no other data depends on it.
    pub(crate) stack_limit: AtomicU64,
    /// \[a] Whether faults make large pages. Relaxed: no other data depends on it.
    pub(crate) makes_large: AtomicBool,
    /// \[a] With the page tables \[p] of each CPU, if each has its own.
    pub(crate) active: ActiveCpus<OwnPlace<M::Pmap>>,
    /// \[p] The page tables of all CPUs, if they share them.
    pub(crate) shared: Option<M::Pmap>,
    /// \[l] On lines of its own.
    pub(crate) tree: Tree,
}

impl<'m, M: Machine> SpaceBody<'m, M> {
    /// The space of a member.
    ///
    /// # Safety
    /// It is a member of a family of this memory, whose lock is held.
    pub(crate) unsafe fn of<'a>(member: *const Member) -> &'a Self {
        // SAFETY: 1. A member is the first field of a space, which is there while it is a member. 2. Families of a memory are of
        // its spaces alone, whose machine has this type.
        unsafe { &*member.cast::<Self>() }
    }
}

/// An address space. It ends by [`Cpu::exit`]: one that is dropped leaks its frames.
#[derive(Debug)]
pub struct Space<'m, M: Machine> {
    /// Made by `Box::into_raw`. It stays in its place, where its family finds it.
    body: NonNull<SpaceBody<'m, M>>,
}

// SAFETY: it owns its body, all parts of which are shared by their locks and atomics.
unsafe impl<M: Machine + Sync> Send for Space<'_, M> where M::Pmap: Send {}
// SAFETY: as above; a CPU's page tables are made by one thread, and may be dropped by another.
unsafe impl<M: Machine + Sync> Sync for Space<'_, M> where M::Pmap: Send + Sync {}

impl<'m, M: Machine> Space<'m, M> {
    /// Its number, under which TLBs know it.
    pub fn id(&self) -> SpaceId {
        self.body().id
    }

    /// The page tables by which a CPU translates, for its hardware. None if each CPU has its own, and the space was never active on this one.
    #[inline]
    pub fn pmap(&self, cpu: CpuNumber) -> Option<&M::Pmap> {
        self.body().pmap_of(cpu)
    }

    pub(crate) fn body(&self) -> &SpaceBody<'m, M> {
        // SAFETY: it lives as long as this.
        unsafe { self.body.as_ref() }
    }

    /// Takes a space apart that has left its family.
    pub(crate) fn into_body(self) -> Box<SpaceBody<'m, M>> {
        // SAFETY: 1. Made by `into_raw`. 2. No family finds it, and this is its only owner.
        unsafe { Box::from_raw(ManuallyDrop::new(self).body.as_ptr()) }
    }

    /// For who has made it, once: its family finds it from now on.
    pub(crate) fn join(&self) {
        // SAFETY: it stays in its place until it has left.
        unsafe { self.body().family.get().join(&raw const self.body().member) };
    }

    /// For who has it alone: whether it is active on a CPU. Visitors of its family are active under the family's lock only.
    pub(crate) fn is_active(&self) -> bool {
        let body = self.body();
        body.family.get().locked(|| !body.active.is_empty())
    }

    /// For who ends it: its family finds it no longer, and no visit goes on that has met it.
    pub(crate) fn leave(&self) {
        let body = self.body();
        // SAFETY: it has joined, and is left once.
        unsafe { body.family.get().leave(&raw const body.member) };
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// A space without mappings, active on no CPU.
    pub fn new_space(&self) -> Result<Space<'m, M>, NoMemory> {
        let family = Counted::try_new(Family::new())?;
        let space = self.space_of(&family).inspect(Space::join);
        family.release(1);
        space
    }

    /// A space that has not joined its family yet.
    pub(crate) fn space_of(&self, family: &Counted<Family>) -> Result<Space<'m, M>, NoMemory> {
        let shared = self.shared_tables()?;
        let active = ActiveCpus::try_new(self.memory.cpus())?;
        let body = try_box_with(|| SpaceBody {
            member: Member::new(),
            family: family.another(),
            memory: self.memory,
            id: SpaceId(self.next_space()),
            stack_limit: AtomicU64::new(STACK_LIMIT),
            makes_large: AtomicBool::new(true),
            active,
            shared,
            tree: Tree::new(),
        })?;
        Ok(Space { body: NonNull::from(Box::leak(body)) })
    }

    /// Makes a space active on this CPU: before the hardware uses its page tables, and before any call with it. A CPU may have
    /// several active spaces, if its TLB tells them apart. Fails if the CPU has page tables of its own, and there is no memory for them.
    pub fn activate(&self, space: &Space<'m, M>) -> Result<(), SpaceError> {
        if !ptr::eq(space.body().memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        self.make_tables(space.body()).map_err(|error| self.no_memory(error))?;
        space.body().active.enter(self.number);
        Ok(())
    }

    /// Ends that: when the hardware no longer uses its page tables. The CPU's TLB forgets the space, so that no shoot-down of it
    /// need reach this CPU.
    pub fn deactivate(&self, space: &Space<'m, M>) {
        self.machine().flush(self.number, &Flush { space: space.id(), pages: PageRange::ALL });
        space.body().active.leave(self.number);
    }

    /// The body of a space that is active here.
    pub(crate) fn check_active<'s>(&self, space: &'s Space<'m, M>) -> Result<&'s SpaceBody<'m, M>, SpaceError> {
        let body = space.body();
        if body.active.has(self.number) && ptr::eq(body.memory, self.memory) {
            Ok(body)
        } else {
            Err(SpaceError::NotActive)
        }
    }
}
