//! Primitives: atomics, which a tool can replace to explore interleavings; a spin lock; and
//! allocations that return an error if memory runs out, unlike `Box::new`.

use crate::error::NoMemory;
use alloc::alloc::alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(all(shuttle, not(loom), test))]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(not(all(any(loom, shuttle), test)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

/// Lifetime of memory that others read without owning it: loom reports reads after its end. A no-op
/// without loom.
#[derive(Debug)]
pub(crate) struct Lifetime {
    #[cfg(all(loom, test))]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: it has no contents; loom checks the order of its uses.
#[cfg(all(loom, test))]
unsafe impl Sync for Lifetime {}

impl Lifetime {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(all(loom, test))]
            cell: loom::cell::UnsafeCell::new(()),
        }
    }

    /// Records a read of the memory.
    #[inline]
    pub(crate) fn read(&self) {
        #[cfg(all(loom, test))]
        self.cell.with(|_| ());
    }

    /// Ends the memory. Under loom it is leaked, so that a late read is reported and reads nothing
    /// else.
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

/// Yields, in a loop that waits for other CPUs.
#[inline]
pub(crate) fn relax() {
    #[cfg(all(loom, test))]
    loom::thread::yield_now();
    #[cfg(all(shuttle, not(loom), test))]
    shuttle::thread::yield_now();
    #[cfg(not(all(any(loom, shuttle), test)))]
    core::hint::spin_loop();
}

/// A spin lock, for rarely changed lists outside the path of faults on resident pages.
///
/// A CPU waits for it without a guard of [`Machine::pin`](crate::Machine::pin), so it answers
/// shoot-downs; the holder may wait for such answers. The lock of a CPU's page tables is different:
/// it is waited for with the guard, so its holder waits for nothing. The hosted machine uses it for
/// its CPUs: there it stands for disabled interrupts.
///
/// Fields: \[s] changed by compare-and-swap to true, and back by the holder; \[h] used by the
/// holder.
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

/// A value on the heap.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, NoMemory> {
    try_box_with(|| value)
}

/// A value on the heap, made only after the allocation succeeded: for values that must not simply
/// be dropped.
pub(crate) fn try_box_with<T>(make: impl FnOnce() -> T) -> Result<Box<T>, NoMemory> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout's size is not zero.
    let place = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if place.is_null() {
        return Err(NoMemory);
    }
    // SAFETY: 1. `place` is valid for a `T`, and exclusively ours. 2. It comes from the global
    // allocator with the layout of `T`, as `Box` requires.
    unsafe {
        place.write(make());
        Ok(Box::from_raw(place))
    }
}

/// `count` values on the heap.
pub(crate) fn try_slice<T>(count: usize, value: impl FnMut() -> T) -> Result<Box<[T]>, NoMemory> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| NoMemory)?;
    // Does not grow the vector: there is room for `count`. Nor does `into_boxed_slice` move it.
    values.resize_with(count, value);
    Ok(values.into_boxed_slice())
}

/// Appends a value to a vector with room for it. Unlike `Vec::push` it has no path that grows the
/// vector, which could panic.
pub(crate) fn push_reserved<T>(values: &mut Vec<T>, value: T) {
    let count = values.len();
    let Some(place) = values.spare_capacity_mut().first_mut() else {
        debug_assert!(false, "no room was reserved");
        return;
    };
    place.write(value);
    // SAFETY: 1. The element at `count` was written above. 2. It lies within the capacity.
    unsafe { values.set_len(count + 1) };
}
