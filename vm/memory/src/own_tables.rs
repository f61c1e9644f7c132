//! One CPU's own page tables of a space, and where they are: made when the space is active there for the first time, freed with the space.

use crate::allocation::try_box_with;
use crate::error::NoMemory;
use crate::primitive::AtomicPtr;
use crate::spin::Spin;
use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Page tables of one CPU, on lines of their own. Fields: \[t] by the lock; \[p] as in `SpaceBody`.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Own<P> {
    /// \[t]
    pub(crate) lock: Spin<()>,
    /// \[p]
    pub(crate) pmap: P,
}

/// Where a CPU's own page tables are. Fields: \[a] written once, by the CPU.
#[derive(Debug)]
pub(crate) struct OwnPlace<P> {
    /// \[a] Null until the space is active on the CPU for the first time.
    own: AtomicPtr<Own<P>>,
}

impl<P> Default for OwnPlace<P> {
    fn default() -> Self {
        Self { own: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<P> OwnPlace<P> {
    #[inline]
    pub(crate) fn get(&self) -> Option<&Own<P>> {
        // Acquire: pairs with the release in `make`: the tables. SAFETY: 1. Null, or made by `make`. 2. Never changed after that, and freed with this.
        unsafe { self.own.load(Acquire).as_ref() }
    }

    /// For the CPU itself: makes them if there are none yet.
    pub(crate) fn make(&self, new: impl FnOnce() -> Result<P, NoMemory>) -> Result<(), NoMemory> {
        // Relaxed: only the CPU itself writes it.
        if self.own.load(Relaxed).is_null() {
            let pmap = new()?;
            let own = try_box_with(|| Own { lock: Spin::new(()), pmap })?;
            // Release: pairs with the acquire in `get`: the tables.
            self.own.store(Box::into_raw(own), Release);
        }
        Ok(())
    }
}

impl<P> Drop for OwnPlace<P> {
    fn drop(&mut self) {
        // Acquire: as in `get`.
        let own = self.own.load(Acquire);
        if !own.is_null() {
            // SAFETY: 1. Made by `into_raw` in `make`. 2. They are ours alone.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}

// SAFETY: it owns the tables.
unsafe impl<P: Send> Send for OwnPlace<P> {}
// SAFETY: 1. Tables are shared by their lock and the atomics of their entries, as `Pmap` demands. 2. One thread makes them, and another may drop
// them: so they can be sent.
unsafe impl<P: Send + Sync> Sync for OwnPlace<P> {}
