// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the CPUs of a machine in step, which run on one thread.

use crate::overlap::Times;
use crate::scheduler::Scheduler;
use crate::turns::{Grain, Turns};
use std::cell::UnsafeCell;

/// How CPUs are kept in step.
pub(crate) struct Pace {
    /// Whose turn it is, and the clocks.
    pub(crate) turns: OneThread<Turns>,
    /// Ends turns.
    pub(crate) scheduler: Scheduler,
}

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

impl Pace {
    /// For a machine with that many CPUs.
    pub(crate) fn new(cpus: usize, grain: Grain, scheduler: Scheduler) -> Self {
        Pace { turns: OneThread::new(Turns::new(cpus, grain)), scheduler }
    }

    /// Begins stepping.
    ///
    /// # Safety
    /// Call it in a callback of a CPU, or at installation or reset.
    pub(crate) unsafe fn begin(&self) {
        // SAFETY: as the caller promises; it is given back at once.
        unsafe { self.turns.lend() }.begin();
    }

    /// Ends stepping.
    ///
    /// # Safety
    /// Call it in a callback of a CPU.
    pub(crate) unsafe fn end(&self) {
        // SAFETY: as the caller promises; it is given back at once.
        unsafe { self.turns.lend() }.end();
    }

    /// For how long CPUs were busy in the regions that have ended.
    ///
    /// # Safety
    /// Call it in a callback of a CPU or at exit.
    pub(crate) unsafe fn times(&self) -> Times {
        // SAFETY: as the caller promises; it is given back at once.
        unsafe { self.turns.lend() }.overlap.times()
    }

    /// A CPU's clock.
    ///
    /// # Safety
    /// Call it in a callback of a CPU or at exit.
    pub(crate) unsafe fn clock(&self, cpu: usize) -> u64 {
        // SAFETY: as the caller promises; it is given back at once.
        unsafe { self.turns.lend() }.clock(cpu)
    }
}
