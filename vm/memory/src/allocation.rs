//! Allocations that may fail: `Box::new` ends the program when there is no memory.

use crate::error::NoMemory;
use alloc::alloc::alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;

/// A value on the heap.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, NoMemory> {
    try_box_with(|| value)
}

/// A value on the heap, which is made when there is room for it: for one that owns what is not given up by dropping it.
pub(crate) fn try_box_with<T>(make: impl FnOnce() -> T) -> Result<Box<T>, NoMemory> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout's size is not zero.
    let place = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    if place.is_null() {
        return Err(NoMemory);
    }
    // SAFETY: 1. `place` is valid for a `T`, and nobody else's. 2. It comes from the global allocator with the layout of
    // `T`, as `Box` requires.
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
