//! Atomics: the machine's, or those of a tool that explores interleavings.

use alloc::boxed::Box;

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(all(shuttle, not(loom), test))]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(not(all(any(loom, shuttle), test)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

/// Says of memory that others read without owning it that it is there: loom finds who reads it after its end. Without loom it is nothing.
#[derive(Debug)]
pub(crate) struct Lifetime {
    #[cfg(all(loom, test))]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: it has no contents; loom looks at the order of its uses.
#[cfg(all(loom, test))]
unsafe impl Sync for Lifetime {}

impl Lifetime {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(all(loom, test))]
            cell: loom::cell::UnsafeCell::new(()),
        }
    }

    /// The memory is read.
    #[inline]
    pub(crate) fn read(&self) {
        #[cfg(all(loom, test))]
        self.cell.with(|_| ());
    }

    /// Ends memory. Under loom it stays, so that who reads it too late is found and reads nothing else.
    pub(crate) fn end<T>(memory: Box<T>, lifetime: impl Fn(&T) -> &Self) {
        #[cfg(all(loom, test))]
        {
            lifetime(&memory).cell.with_mut(|_| ());
            core::mem::forget(memory);
        }
        #[cfg(not(all(loom, test)))]
        drop((memory, lifetime));
    }
}

/// Lets others go on, in a loop that waits for them.
#[inline]
pub(crate) fn relax() {
    #[cfg(all(loom, test))]
    loom::thread::yield_now();
    #[cfg(all(shuttle, not(loom), test))]
    shuttle::thread::yield_now();
    #[cfg(not(all(any(loom, shuttle), test)))]
    core::hint::spin_loop();
}
