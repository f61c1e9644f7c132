//! Zeroed memory for an allocator's own records, at a fixed address, freed when its holder is dropped.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory for records.
#[derive(Debug)]
pub struct Metadata {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is only memory; `lend` settles who may use it when.
unsafe impl Send for Metadata {}
// SAFETY: as above; a shared reference gives no access to the memory.
unsafe impl Sync for Metadata {}

impl Metadata {
    /// Memory of that size and alignment, all zero.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn new(layout: Layout) -> Self {
        assert!(layout.size() > 0, "no memory asked for");
        // SAFETY: the size is not 0.
        let first = unsafe { alloc_zeroed(layout) };
        Metadata { first: NonNull::new(first).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }

    /// All of the memory, for a lifetime that the caller chooses.
    ///
    /// # Safety
    /// 1. It is lent once; 2. the borrower is gone before `self` is.
    pub unsafe fn lend<'m>(&mut self) -> &'m mut [MaybeUninit<u8>] {
        // SAFETY: 1. allocated with that size; 2. nobody else has it, and it lives long enough, as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.first.cast().as_ptr(), self.layout.size()) }
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout; the borrower is gone.
        unsafe { dealloc(self.first.as_ptr(), self.layout) }
    }
}
