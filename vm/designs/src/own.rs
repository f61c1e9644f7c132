//! Data of one CPU: on lines that no other CPU's data shares, and changed without atomics.

use std::cell::UnsafeCell;

/// On separate lines: two of 64 bytes, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// One for each CPU.
pub(crate) fn for_each_cpu<T: Default>(cpus: usize) -> Box<[Padded<T>]> {
    (0..cpus).map(|_| Padded::default()).collect()
}

/// Data that only its CPU touches.
#[derive(Debug, Default)]
pub(crate) struct Own<T>(UnsafeCell<T>);

// SAFETY: 1. `with` is the only access, and its caller promises that calls do not overlap and are ordered; 2. so the
// value only moves between threads, for which `Send` is enough.
unsafe impl<T: Send> Sync for Own<T> {}

impl<T> Own<T> {
    /// Calls `run` with the data.
    ///
    /// # Safety
    /// No other call on the same data runs meanwhile, including from within `run`. Earlier calls happened before this
    /// one.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: nobody else has a reference, as the caller promises.
        run(unsafe { &mut *self.0.get() })
    }
}
