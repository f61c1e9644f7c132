//! What belongs to one CPU: on lines that no other CPU's data shares, and changed without atomics.

use std::cell::UnsafeCell;

/// On lines of its own: two of 64 bytes, since processors fetch lines by pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// One for each CPU.
pub(crate) fn for_each_cpu<T: Default>(cpus: usize) -> Box<[Padded<T>]> {
    (0..cpus).map(|_| Padded::default()).collect()
}

/// Data that its CPU alone touches.
#[derive(Debug, Default)]
pub(crate) struct Own<T>(UnsafeCell<T>);

// SAFETY: 1. `with` is the only way in, and its caller promises that calls don't overlap and are ordered; 2. so the value is only
// ever moved between threads, for which `Send` is enough.
unsafe impl<T: Send> Sync for Own<T> {}

impl<T> Own<T> {
    /// Does something with the data.
    ///
    /// # Safety
    /// No other call on the same data runs meanwhile, `run` included, and those before happened before.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: nobody else has a reference, as the caller promises.
        run(unsafe { &mut *self.0.get() })
    }
}
