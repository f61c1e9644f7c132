//! Atomics: those of the machine, or of a tool that explores interleavings of them.
//!
//! What one CPU alone writes and what only counts is not explored: those files use `core`'s atomics at once.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
#[cfg(all(shuttle, not(loom), test))]
pub(crate) use shuttle::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

#[cfg(not(all(any(loom, shuttle), test)))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Stands between a sequentially consistent write and a sequentially consistent read of another word, for loom alone.
///
/// The language gives all such operations one order; loom takes them for acquire and release, and would let both sides of a
/// handshake overlook each other. It does model fences. Elsewhere this is nothing.
#[inline(always)]
pub(crate) fn order_for_loom() {
    #[cfg(all(loom, test))]
    loom::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}
