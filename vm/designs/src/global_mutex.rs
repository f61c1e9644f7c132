//! One mutex over one list: what a kernel has before it does anything about its page allocator. A thread that finds it taken
//! sleeps.
//!
//! Stands for OpenBSD's page allocator before its per-CPU caches (one mutex over all of `uvm_pmemrange`), with a list in place
//! of its trees. That mutex spins; how that does is [`SpinList`](crate::SpinList).

use crate::free_list::FreeList;
use crate::{Design, Frame, Memory};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One mutex over a free list.
#[derive(Debug)]
pub struct GlobalMutex {
    list: Mutex<FreeList>,
}

impl GlobalMutex {
    /// The list, locked: for what stands on it and moves several frames at once.
    pub(crate) fn lock(&self) -> MutexGuard<'_, FreeList> {
        // A thread that panicked under the lock left a list that is whole: it is changed by single stores of its head.
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
