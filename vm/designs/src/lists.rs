//! Designs with one list or tree under one global lock.

use crate::{BLOCK_FRAMES, Design, Frame, Memory};
use buddy_system_allocator::LockedFrameAllocator;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// No frame.
const END: u32 = u32::MAX;

/// A last-in-first-out list of free frames, linked through one number per frame. The owner locks
/// it.
#[derive(Debug)]
pub(crate) struct FreeList {
    /// For each frame in the list: the next one, or `END`.
    next: Box<[u32]>,
    head: u32,
}

impl FreeList {
    /// A list of this many frames, the lowest first.
    pub(crate) fn of(frames: usize) -> Self {
        let last = u32::try_from(frames).expect("frames have numbers of 32 bits");
        assert!(last != END, "the last number means none");
        let next = (1..=last).map(|next| if next == last { END } else { next }).collect();
        FreeList { next, head: if last == 0 { END } else { 0 } }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.head;
        self.head = *self.next.get(frame as usize)?;
        Some(Frame(frame))
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        self.next[frame.index()] = self.head;
        self.head = frame.0;
    }
}

/// One sleeping mutex over one list: a kernel's page allocator before optimisation.
///
/// It represents OpenBSD's page allocator before its per-CPU caches (one mutex over all of
/// `uvm_pmemrange`), with a list instead of its trees. OpenBSD's mutex spins; [`SpinList`] shows
/// how that performs.
#[derive(Debug)]
pub struct GlobalMutex {
    list: Mutex<FreeList>,
}

impl GlobalMutex {
    /// The locked list, for designs that build on it and move several frames at once.
    pub(crate) fn lock(&self) -> MutexGuard<'_, FreeList> {
        // A panic under the lock leaves the list intact: single stores to its head change it.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Design for GlobalMutex {
    const NAME: &'static str = "global-mutex";

    fn new(memory: &Memory) -> Self {
        GlobalMutex { list: Mutex::new(FreeList::of(memory.frames)) }
    }

    unsafe fn get(&self, _cpu: usize) -> Option<Frame> {
        self.lock().pop()
    }

    unsafe fn put(&self, _cpu: usize, frame: Frame) {
        self.lock().push(frame);
    }
}

/// One spinlock over one list: the usual baseline of measurements, and the fastest design on one
/// CPU.
#[derive(Debug)]
pub struct SpinList {
    list: spin::Mutex<FreeList>,
}

impl Design for SpinList {
    const NAME: &'static str = "spin-list";

    fn new(memory: &Memory) -> Self {
        SpinList { list: spin::Mutex::new(FreeList::of(memory.frames)) }
    }

    unsafe fn get(&self, _cpu: usize) -> Option<Frame> {
        self.list.lock().pop()
    }

    unsafe fn put(&self, _cpu: usize, frame: Frame) {
        self.list.lock().push(frame);
    }
}

/// The crate `buddy_system_allocator` under a spinlock, as in its documentation: a tree of free
/// blocks for each power of two. Small kernels in Rust use it for their frames.
pub struct SpinBuddy {
    frames: LockedFrameAllocator,
}

impl SpinBuddy {
    fn take(&self, frames: usize) -> Option<Frame> {
        // The numbers are below those given to `new`, which have 32 bits.
        self.frames.lock().alloc(frames).map(|first| Frame(first as u32))
    }
}

impl Design for SpinBuddy {
    const NAME: &'static str = "spin-buddy";
    const HAS_HUGE: bool = true;

    fn new(memory: &Memory) -> Self {
        assert!(u32::try_from(memory.frames).is_ok(), "frames have numbers of 32 bits");
        let frames = LockedFrameAllocator::new();
        frames.lock().add_frame(0, memory.frames);
        SpinBuddy { frames }
    }

    unsafe fn get(&self, _cpu: usize) -> Option<Frame> {
        self.take(1)
    }

    unsafe fn put(&self, _cpu: usize, frame: Frame) {
        self.frames.lock().dealloc(frame.index(), 1);
    }

    unsafe fn get_huge(&self, _cpu: usize) -> Option<Frame> {
        self.take(BLOCK_FRAMES)
    }

    unsafe fn put_huge(&self, _cpu: usize, first: Frame) {
        self.frames.lock().dealloc(first.index(), BLOCK_FRAMES);
    }
}
