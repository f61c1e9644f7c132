//! One mutex over one list: what a kernel starts with, before it optimises its page allocator. A thread that finds the
//! mutex taken sleeps.
//!
//! It represents OpenBSD's page allocator before its per-CPU caches (one mutex over all of `uvm_pmemrange`), with a
//! list instead of its trees. OpenBSD's mutex spins; [`SpinList`](crate::SpinList) shows how that performs.

use crate::free_list::FreeList;
use crate::{Design, Frame, Memory};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One mutex over a free list.
#[derive(Debug)]
pub struct GlobalMutex {
    list: Mutex<FreeList>,
}

impl GlobalMutex {
    /// The locked list, for designs that build on it and move several frames at once.
    pub(crate) fn lock(&self) -> MutexGuard<'_, FreeList> {
        // If a thread panicked under the lock, the list is still intact: it is changed by single stores to its head.
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
