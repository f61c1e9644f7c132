//! Atomics: the machine's, or those of a tool that explores interleavings.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(all(shuttle, not(loom), test))]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(not(all(any(loom, shuttle), test)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

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
