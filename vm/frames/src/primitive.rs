//! Atomics: the machine's, or those of a tool that explores interleavings.
//!
//! Data written by only one CPU, and counts, are not explored: those files use `core`'s atomics
//! directly.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
#[cfg(all(shuttle, not(loom), test))]
pub(crate) use shuttle::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

#[cfg(not(all(any(loom, shuttle), test)))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Yields, in a loop that waits for another CPU's few stores.
#[inline]
pub(crate) fn relax() {
    #[cfg(all(loom, test))]
    loom::thread::yield_now();
    #[cfg(all(shuttle, not(loom), test))]
    shuttle::thread::yield_now();
    #[cfg(not(all(any(loom, shuttle), test)))]
    core::hint::spin_loop();
}

/// A fence for loom only, between a sequentially consistent write and a sequentially consistent
/// read of another word.
///
/// The language guarantees one order of all such operations. Loom treats them as acquire and
/// release, so both sides of a handshake could miss each other. Loom does model fences. Without
/// loom this does nothing.
#[inline(always)]
pub(crate) fn order_for_loom() {
    #[cfg(all(loom, test))]
    loom::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}
