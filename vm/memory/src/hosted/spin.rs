//! A lock around data of a hosted CPU. It stands for that CPU's interrupts being off: who wants them answered waits.

use crate::primitive::{AtomicBool, relax};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Data with a lock. Fields: \[s] changed by compare-and-swap to true, and back by who did so; \[h] by who has set it.
#[derive(Debug)]
pub(super) struct Spin<T> {
    /// \[s]
    is_held: AtomicBool,
    /// \[h]
    data: UnsafeCell<T>,
}

// SAFETY: the data goes from thread to thread, one at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    pub(super) fn new(data: T) -> Self {
        Self { is_held: AtomicBool::new(false), data: UnsafeCell::new(data) }
    }

    #[inline]
    pub(super) fn lock(&self) -> Held<'_, T> {
        // Acquire: pairs with the release in `drop`.
        while self.is_held.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            relax();
        }
        Held { lock: self }
    }
}

/// The data, locked.
#[derive(Debug)]
pub(super) struct Held<'a, T> {
    lock: &'a Spin<T>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and there is one reference through `self`.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the acquire in `lock`.
        self.lock.is_held.store(false, Release);
    }
}
