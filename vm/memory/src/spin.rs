//! A lock that is waited for in a loop: for lists that are changed seldom, off the way of faults on resident pages.
//!
//! A CPU that waits for it has no guard of [`Machine::pin`](crate::Machine::pin), so it answers shoot-downs; one that has it
//! may wait for such answers. The lock of a CPU's page tables is another case: it is waited for with the guard, so who has it waits for nothing.
//! The hosted machine uses it for its CPUs: there it stands for interrupts that are off.

use crate::primitive::{AtomicBool, relax};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Data with a lock. Fields: \[s] changed by compare-and-swap to true, and back by who did so; \[h] by who has set it.
#[derive(Debug)]
pub(crate) struct Spin<T> {
    /// \[s]
    is_held: AtomicBool,
    /// \[h]
    data: UnsafeCell<T>,
}

// SAFETY: the data goes from thread to thread, one at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    pub(crate) fn new(data: T) -> Self {
        Self { is_held: AtomicBool::new(false), data: UnsafeCell::new(data) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        // Acquire: pairs with the release in `drop`.
        while self.is_held.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            relax();
        }
        Held { lock: self }
    }
}

/// The data, locked.
#[derive(Debug)]
pub(crate) struct Held<'a, T> {
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
