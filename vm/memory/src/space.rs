//! An address space: its tree, page tables, active CPUs and family; and the locks of its ranges.
//! See `change`, `fault` and `fork` for operations.

use crate::address::PageRange;
use crate::counted::Counted;
use crate::counters::Event;
use crate::cpu_set::ActiveCpus;
use crate::error::{NoMemory, SpaceError};
use crate::family::{Family, Member};
use crate::leftovers::Leftovers;
use crate::machine::{Flush, FrameSource, Machine, Pmap, SpaceId};
use crate::memory::{Cpu, Memory};
use crate::primitive::{AtomicBool, AtomicPtr, Spin, relax, try_box_with};
use crate::tree::slot::{Mapped, Slot, View};
use crate::tree::{LEAF_PAGES, LockStep, Tree};
use alloc::boxed::Box;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use faultline_numbers::CpuNumber;

/// Default stack limit of a space, in pages: 8 MiB.
const STACK_LIMIT: u64 = 2048;

/// The parts of a space. Fields: \[I] immutable; \[l] protected by the slots of the tree; \[p] each
/// entry by its slot's lock, and its accessed and dirty bits by the hardware; \[a] one atomic word,
/// or one for each CPU, which writes it; \[k] taken by a fork, see `pieces`; \[f] protected by the
/// family's lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SpaceBody<'m, M: Machine> {
    /// \[f] First field: a member's address is its space's.
    member: Member,
    /// \[I]
    pub(crate) family: Counted<Family>,
    /// \[I]
    pub(crate) memory: &'m Memory<M>,
    /// \[I]
    pub(crate) id: SpaceId,
    /// \[I] Its limits: nothing outside is mapped.
    pub(crate) pages: PageRange,
    /// \[a] Stack limit in pages. Relaxed: no other data depends on it.
    pub(crate) stack_limit: AtomicU64,
    /// \[a] True if faults make large pages. Relaxed: no other data depends on it.
    pub(crate) makes_large: AtomicBool,
    /// \[k] True while a fork copies the space.
    forked: AtomicBool,
    /// \[a] With the page tables \[p] of each CPU, if each has its own, and its leftovers \[c].
    pub(crate) active: ActiveCpus<Part<M::Pmap>>,
    /// \[p] The page tables of all CPUs, if shared.
    pub(crate) shared: Option<M::Pmap>,
    /// \[l] On lines of its own.
    pub(crate) tree: Tree,
}

impl<'m, M: Machine> SpaceBody<'m, M> {
    /// The space of a member.
    ///
    /// # Safety
    /// `member` belongs to a family of this memory, whose lock is held.
    pub(crate) unsafe fn of<'a>(member: *const Member) -> &'a Self {
        // SAFETY: 1. A member is the first field of a space, which is alive while it is a member.
        // 2. Families of a memory are of its spaces alone, whose machine has this type.
        unsafe { &*member.cast::<Self>() }
    }

    /// True if a fork is under way. Certain for a caller that has locked slots of the space which
    /// the fork has copied; a guess without.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        // Relaxed: if the fork has released one of these slots, it has set this before, and the
        // slot's lock orders that.
        self.forked.load(Relaxed)
    }

    /// Begins a fork. False if another is under way.
    pub(crate) fn begin_fork(&self) -> bool {
        // Acquire: pairs with `end_fork`. The slots that are locked next release this to others.
        !self.forked.swap(true, Acquire)
    }

    /// Ends a fork.
    pub(crate) fn end_fork(&self) {
        // Release: pairs with the acquire in `begin_fork`. Changes come after all of it by the
        // slots' locks.
        self.forked.store(false, Release);
    }

    /// A CPU's leftovers: for the CPU itself.
    pub(crate) fn leftovers(&self, cpu: CpuNumber) -> Option<&Leftovers> {
        self.active.part(cpu).map(|part| &part.left)
    }
}

/// An address space. [`Cpu::exit`] ends it; dropping it instead leaks its frames.
#[derive(Debug)]
pub struct Space<'m, M: Machine> {
    /// Made by `Box::into_raw`. It does not move: its family has its address.
    body: NonNull<SpaceBody<'m, M>>,
}

// SAFETY: it owns its body, all parts of which are shared by their locks and atomics.
unsafe impl<M: Machine + Sync> Send for Space<'_, M> where M::Pmap: Send {}
// SAFETY: as above; a CPU's page tables are made by one thread, and may be dropped by another.
unsafe impl<M: Machine + Sync> Sync for Space<'_, M> where M::Pmap: Send + Sync {}

impl<'m, M: Machine> Space<'m, M> {
    /// The number by which TLBs know the space.
    pub fn id(&self) -> SpaceId {
        self.body().id
    }

    /// Its limits: the pages that calls may name. A fork inherits them.
    pub fn pages(&self) -> PageRange {
        self.body().pages
    }

    /// The page tables that a CPU translates with, for its hardware. `None` if each CPU has its
    /// own, and the space was never active on this one.
    #[inline]
    pub fn pmap(&self, cpu: CpuNumber) -> Option<&M::Pmap> {
        self.body().pmap_of(cpu)
    }

    pub(crate) fn body(&self) -> &SpaceBody<'m, M> {
        // SAFETY: it lives as long as this.
        unsafe { self.body.as_ref() }
    }

    /// Takes apart a space that has left its family.
    pub(crate) fn into_body(self) -> Box<SpaceBody<'m, M>> {
        // SAFETY: 1. Made by `into_raw`. 2. No family finds it, and this is its only owner.
        unsafe { Box::from_raw(ManuallyDrop::new(self).body.as_ptr()) }
    }

    /// Adds the new space to its family. Call once.
    pub(crate) fn join(&self) {
        // SAFETY: it does not move until it has left.
        unsafe { self.body().family.get().join(&raw const self.body().member, ptr::null()) };
    }

    /// As `join`, behind its parent, so that visits come to the parent first.
    pub(crate) fn join_behind(&self, parent: &SpaceBody<'m, M>) {
        // SAFETY: 1. As above. 2. The parent has joined the same family, and is alive.
        unsafe { self.body().family.get().join(&raw const self.body().member, &raw const parent.member) };
    }

    /// True if the space is active on a CPU. For an exclusive owner: visitors of its family are
    /// active under the family's lock only.
    pub(crate) fn is_active(&self) -> bool {
        let body = self.body();
        body.family.get().locked(|| !body.active.is_empty())
    }

    /// Removes an ending space from its family. No visit that has met it is still running
    /// afterwards.
    pub(crate) fn leave(&self) {
        let body = self.body();
        // SAFETY: it has joined, and leaves once.
        unsafe { body.family.get().leave(&raw const body.member) };
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// A space without mappings, active on no CPU. Its limits are those of the machine.
    pub fn new_space(&self) -> Result<Space<'m, M>, NoMemory> {
        self.new_family(self.machine().pages())
    }

    /// Like [`new_space`](Self::new_space), with narrower limits: without the lowest pages, so that
    /// null pointers with large offsets fault, or for programs with addresses of 32 bits.
    pub fn new_space_within(&self, pages: PageRange) -> Result<Space<'m, M>, SpaceError> {
        if !self.machine().pages().contains(pages) {
            return Err(SpaceError::BadRange);
        }
        Ok(self.new_family(pages)?)
    }

    fn new_family(&self, pages: PageRange) -> Result<Space<'m, M>, NoMemory> {
        let family = Counted::try_new(Family::new())?;
        let space = self.space_of(&family, pages).inspect(Space::join);
        family.release(1);
        space
    }

    /// A space that has not joined its family yet.
    pub(crate) fn space_of(&self, family: &Counted<Family>, pages: PageRange) -> Result<Space<'m, M>, NoMemory> {
        let shared = self.shared_tables()?;
        let active = ActiveCpus::try_new(self.memory.cpus())?;
        let body = try_box_with(|| SpaceBody {
            member: Member::new(),
            family: family.another(),
            memory: self.memory,
            id: SpaceId(self.next_space()),
            pages,
            stack_limit: AtomicU64::new(STACK_LIMIT),
            makes_large: AtomicBool::new(true),
            forked: AtomicBool::new(false),
            active,
            shared,
            tree: Tree::new(pages.end()),
        })?;
        Ok(Space { body: NonNull::from(Box::leak(body)) })
    }

    /// Makes a space active on this CPU: call before the hardware uses its page tables, and before
    /// any call with it. A CPU may have several active spaces if its TLB tells them apart. Fails if
    /// the CPU has page tables of its own, and there is no memory for them.
    pub fn activate(&self, space: &Space<'m, M>) -> Result<(), SpaceError> {
        if !ptr::eq(space.body().memory, self.memory) {
            return Err(SpaceError::OtherMemory);
        }
        self.make_tables(space.body()).map_err(|error| self.no_memory(error))?;
        space.body().active.enter(self.number);
        Ok(())
    }

    /// Deactivates a space: call when the hardware no longer uses its page tables. The CPU's TLB
    /// forgets the space, so its shoot-downs skip this CPU.
    pub fn deactivate(&self, space: &Space<'m, M>) {
        let flush = Flush { space: space.id(), pages: PageRange::ALL, frees_tables: true };
        self.machine().flush(self.number, &flush);
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

impl<M: Machine> SpaceBody<'_, M> {
    /// Checks that a range is within the limits.
    pub(crate) fn check(&self, range: PageRange) -> Result<(), SpaceError> {
        if self.pages.contains(range) { Ok(()) } else { Err(SpaceError::BadRange) }
    }
}

/// A locked range. Dropping it unlocks the rest of it.
pub(crate) struct RangeLock<'a> {
    tree: &'a Tree,
    range: PageRange,
    /// True if nodes at its ends may be empty.
    has_holes: Cell<bool>,
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Locks a range of a space that is active here: within its limits, or all of its tree. The
    /// caller holds only locks of ranges at lower addresses, and no guard of `pin`. Fails if there
    /// is no memory for a node.
    pub(crate) fn lock<'a>(&self, space: &'a SpaceBody<'m, M>, range: PageRange) -> Result<RangeLock<'a>, NoMemory> {
        self.lock_up_to(space, range, u64::MAX)
    }

    /// Locks the first part of a range, like `lock`: at least `most` slots if it has as many, up to
    /// the end of a leaf, and not up to the middle of a large entry.
    pub(crate) fn lock_up_to<'a>(
        &self,
        space: &'a SpaceBody<'m, M>,
        range: PageRange,
        most: u64,
    ) -> Result<RangeLock<'a>, NoMemory> {
        let mut next = range.begin();
        let mut count = 0;
        let has_holes = Cell::new(false);
        let mut on_split = |view| {
            self.count(Event::Split);
            has_holes.set(has_holes.get() || view == View::Hole);
        };
        while next < range.end() {
            let pinned = self.pin();
            // SAFETY: the guard is held, and the space is active.
            let step = unsafe { space.tree.lock_next(next, range.end(), &mut on_split) };
            let locked = step.map(|step| match step {
                // SAFETY: 1. The slot of the page before `end` is locked, by the step above. 2. It
                // is of one page, so in a leaf. 3. The guard is held.
                LockStep::Locked(_, end) if end == next + 1 => unsafe {
                    let end = space.tree.lock_behind(end, range.end());
                    Some((end, end - next))
                },
                LockStep::Locked(_, end) => Some((end, 1)),
                LockStep::Taken => None,
            });
            // The slot's holder may be waiting for this CPU to answer a shoot-down.
            drop(pinned);
            match locked {
                Ok(Some((end, slots))) => {
                    (next, count) = (end, count + slots);
                    if count >= most
                        && next.is_multiple_of(LEAF_PAGES)
                        && (next.is_multiple_of(M::Pmap::LARGE_PAGES) || !self.is_large(space, next - 1))
                        && let Some(range) = range.before(next)
                    {
                        return Ok(RangeLock { tree: &space.tree, range, has_holes });
                    }
                }
                Ok(None) => {
                    self.count(Event::Wait);
                    relax();
                }
                Err(error) => {
                    drop(range.before(next).map(|range| RangeLock { tree: &space.tree, range, has_holes }));
                    return Err(error);
                }
            }
        }
        Ok(RangeLock { tree: &space.tree, range, has_holes })
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// True if the entry of a page, whose slot is locked, may be part of a large one.
    fn is_large(&self, space: &SpaceBody<'m, M>, page: u64) -> bool {
        // SAFETY: the guard is held, and the space is active.
        let view = self.pinned(|| unsafe { space.tree.look(page) }.word.view());
        matches!(view, View::Mapped(Mapped { large: true, .. }))
    }
}

impl RangeLock<'_> {
    pub(crate) fn range(&self) -> PageRange {
        self.range
    }

    /// True if nodes at its ends may be empty when it is unlocked: holes were divided to lock it,
    /// or `leaves_holes` was called.
    pub(crate) fn has_holes(&self) -> bool {
        self.has_holes.get()
    }

    /// Records that its slots have become holes.
    pub(crate) fn leaves_holes(&self) {
        self.has_holes.set(true);
        // SAFETY: the range is locked.
        unsafe { self.tree.forget_gaps(self.range) };
    }

    /// Divides slots so that one begins at a page of the range.
    pub(crate) fn split_at(&self, page: u64) -> Result<(), NoMemory> {
        // SAFETY: the range is locked.
        unsafe { self.tree.split_locked(page) }
    }

    /// Divides all slots of the range down to the leaves.
    pub(crate) fn split_to_leaves(&self) -> Result<(), NoMemory> {
        // SAFETY: the range is locked.
        unsafe { self.tree.split_to_leaves(self.range) }
    }

    /// True if nothing is mapped in the range.
    pub(crate) fn is_empty(&self) -> bool {
        self.visit(|slot, _, _| if slot.load().view() == View::Hole { Ok(()) } else { Err(()) }).is_ok()
    }

    /// Calls `act` with each slot, its first page, and its number of pages, until `act` fails.
    pub(crate) fn visit<E>(&self, mut act: impl FnMut(&Slot, u64, u64) -> Result<(), E>) -> Result<(), E> {
        // SAFETY: the range is locked, and `act` cannot unlock all of it: only dropping this type
        // does.
        unsafe { self.tree.visit(self.range, &mut act) }
    }

    /// Like `visit`, with an infallible `act`.
    pub(crate) fn each(&self, mut act: impl FnMut(&Slot, u64, u64)) {
        let Ok(()) = self.visit(|slot, begin, pages| -> Result<(), core::convert::Infallible> {
            act(slot, begin, pages);
            Ok(())
        });
    }
}

impl Drop for RangeLock<'_> {
    fn drop(&mut self) {
        self.each(|slot, _, _| slot.unlock());
    }
}

/// Page tables of one CPU, on lines of their own. Fields: \[t] protected by the lock; \[p] as in
/// `SpaceBody`.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Own<P> {
    /// \[t]
    pub(crate) lock: Spin<()>,
    /// \[p]
    pub(crate) pmap: P,
}

/// A CPU's part of a space, on the line of its membership.
#[derive(Debug)]
pub(crate) struct Part<P> {
    pub(crate) own: OwnPlace<P>,
    left: Leftovers,
}

impl<P> Default for Part<P> {
    fn default() -> Self {
        Self { own: OwnPlace::default(), left: Leftovers::default() }
    }
}

/// Location of a CPU's own page tables. Fields: \[a] written once, by the CPU.
#[derive(Debug)]
pub(crate) struct OwnPlace<P> {
    /// \[a] Null until the space is active on the CPU for the first time.
    own: AtomicPtr<Own<P>>,
}

impl<P> Default for OwnPlace<P> {
    fn default() -> Self {
        Self { own: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<P> OwnPlace<P> {
    #[inline]
    pub(crate) fn get(&self) -> Option<&Own<P>> {
        // Acquire: pairs with the release in `make`: the tables. SAFETY: 1. Null, or made by
        // `make`. 2. Never changed after that, and freed with this.
        unsafe { self.own.load(Acquire).as_ref() }
    }

    /// Makes the tables if there are none yet. Called by the CPU itself.
    pub(crate) fn make(&self, new: impl FnOnce() -> Result<P, NoMemory>) -> Result<(), NoMemory> {
        // Relaxed: only the CPU itself writes it.
        if self.own.load(Relaxed).is_null() {
            let pmap = new()?;
            let own = try_box_with(|| Own { lock: Spin::new(()), pmap })?;
            // Release: pairs with the acquire in `get`: the tables.
            self.own.store(Box::into_raw(own), Release);
        }
        Ok(())
    }
}

impl<P> Drop for OwnPlace<P> {
    fn drop(&mut self) {
        // Acquire: as in `get`.
        let own = self.own.load(Acquire);
        if !own.is_null() {
            // SAFETY: 1. Made by `into_raw` in `make`. 2. Not shared any more.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}

// SAFETY: it owns the tables.
unsafe impl<P: Send> Send for OwnPlace<P> {}
// SAFETY: 1. Tables are shared by their lock and the atomics of their entries, as `Pmap` demands.
// 2. One thread makes them, and another may drop them, so they can be sent.
unsafe impl<P: Send + Sync> Sync for OwnPlace<P> {}
