//! The crate `buddy_system_allocator` under a spinlock, as its own documentation uses it: a tree of free blocks for
//! each power of two. Small kernels in Rust use it for their frames.

use crate::{BLOCK_FRAMES, Design, Frame, Memory};
use buddy_system_allocator::LockedFrameAllocator;

/// A buddy system under one spinlock.
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
