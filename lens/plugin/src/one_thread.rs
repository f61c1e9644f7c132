// SPDX-License-Identifier: GPL-2.0-or-later
//! Data of the thread that runs all CPUs.

use std::cell::UnsafeCell;

/// Data that only the one thread that runs all CPUs touches.
pub(crate) struct OneThread<T>(UnsafeCell<T>);

// SAFETY: 1. it is made for a machine whose CPUs QEMU runs on one thread, as its scheduler says; 2. callbacks of CPUs
// come from that thread, one at a time, and do not nest, and so does the reset's; between them QEMU asks on that thread
// for the guest's time; 3. installation is over before QEMU
// creates the thread; 4. the exit callback comes on that thread, if a device ends QEMU from within an access, or on the
// main thread, which has paused all CPUs under QEMU's lock before it ends in order (`vm_shutdown`); 5. so what is lent
// moves between threads, hence `Send`. Not covered: the main thread may exit with an error in the middle of a run; the
// lens's machines have no device that does this.
unsafe impl<T: Send> Sync for OneThread<T> {}

impl<T> OneThread<T> {
    pub(crate) fn new(value: T) -> Self {
        OneThread(UnsafeCell::new(value))
    }

    /// Lends the data.
    ///
    /// # Safety
    /// Call it in a callback of a CPU, or at installation, reset or exit, or on the thread of the CPUs while no callback
    /// runs. Return what is lent before the next call.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn lend(&self) -> &mut T {
        // SAFETY: nobody else has it, as the caller promises and the type's own list says.
        unsafe { &mut *self.0.get() }
    }
}
