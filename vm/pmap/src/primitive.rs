//! Atomics and a hint for loops that wait: those of this CPU, or loom's.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

#[cfg(not(all(loom, test)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Yields, in a loop that waits for another CPU's few stores.
#[inline]
pub(crate) fn relax() {
    #[cfg(all(loom, test))]
    loom::thread::yield_now();
    #[cfg(not(all(loom, test)))]
    core::hint::spin_loop();
}

/// Use of a table's memory: loom reports reads that do not come before its end. A no-op without
/// loom.
#[derive(Debug, Default)]
pub(crate) struct Lifetime {
    #[cfg(all(loom, test))]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: it has no contents; loom checks the order of its uses.
#[cfg(all(loom, test))]
unsafe impl Sync for Lifetime {}

impl Lifetime {
    /// Records a read of the memory.
    #[inline]
    pub(crate) fn read(&self) {
        #[cfg(all(loom, test))]
        self.cell.with(|_| ());
    }

    /// Ends the memory's use as a table.
    #[inline]
    pub(crate) fn end(&self) {
        #[cfg(all(loom, test))]
        self.cell.with_mut(|_| ());
    }
}
