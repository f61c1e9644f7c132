// SPDX-License-Identifier: GPL-2.0-or-later
//! What keeps the CPUs in step: of a program, whose threads the host runs at once, or of a machine that runs on one thread.

use crate::lockstep::{Lockstep, Quanta, Stepping};
use crate::qemu::Scheduler;
use crate::turns::Turns;
use std::cell::UnsafeCell;
use std::time::Duration;

/// One of the two.
pub(crate) enum Pace {
    /// Each CPU has a thread of the host's.
    Threads(Lockstep),
    /// All share one.
    Turns(OneThread<Turns>, Scheduler),
}

/// What the one thread that runs all CPUs touches alone.
pub(crate) struct OneThread<T>(UnsafeCell<T>);

// SAFETY: 1. it is made for a machine whose CPUs QEMU runs on one thread, as its scheduler says; 2. callbacks of CPUs come
// from that thread, one at a time, and don't nest, and so does the reset's; 3. installation is over before QEMU creates the
// thread; 4. the exit callback comes on that thread, if a device ends QEMU from within an access, or on the main thread, which
// has paused all CPUs under QEMU's lock before it ends in order (`vm_shutdown`); 5. so what is lent moves between threads, hence `Send`.
// Not covered: the main thread may give up with an error in the midst of a run, for which the lens's machines have no device.
unsafe impl<T: Send> Sync for OneThread<T> {}

impl<T> OneThread<T> {
    /// Lends it out.
    ///
    /// # Safety
    /// To be called in a callback of a CPU, or at installation, reset or exit, and what is lent given back before another call.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn lend(&self) -> &mut T {
        // SAFETY: nobody else has it, as the caller promises and the type's own list says.
        unsafe { &mut *self.0.get() }
    }
}

impl Pace {
    /// For a program of that many threads.
    pub(crate) fn threads(cpus: usize, quanta: Quanta, stall: Duration) -> Self {
        Pace::Threads(Lockstep::new(cpus, quanta, stall))
    }

    /// For a machine of that many CPUs.
    pub(crate) fn turns(cpus: usize, quantum: u64, scheduler: Scheduler) -> Self {
        Pace::Turns(OneThread(UnsafeCell::new(Turns::new(cpus, quantum))), scheduler)
    }

    /// Begins to step. Of a program's threads those are `busy`.
    ///
    /// # Safety
    /// To be called in a callback of a CPU, or at installation or reset.
    pub(crate) unsafe fn begin(&self, busy: impl IntoIterator<Item = usize>) {
        match self {
            Pace::Threads(lockstep) => lockstep.begin(busy),
            // SAFETY: as the caller promises; it is given back at once.
            Pace::Turns(turns, _) => unsafe { turns.lend() }.begin(),
        }
    }

    /// Ends stepping; those who wait go on.
    ///
    /// # Safety
    /// To be called in a callback of a CPU.
    pub(crate) unsafe fn end(&self) {
        match self {
            Pace::Threads(lockstep) => lockstep.end(),
            // SAFETY: as the caller promises; it is given back at once.
            Pace::Turns(turns, _) => unsafe { turns.lend() }.end(),
        }
    }

    /// How stepping went so far.
    pub(crate) fn stepping(&self) -> Stepping {
        match self {
            Pace::Threads(lockstep) => lockstep.stepping(),
            // Nobody waits for anybody, so nobody is forced and nothing stalls.
            Pace::Turns(..) => Stepping { forced: 0, stall: None },
        }
    }

    /// A CPU's clock.
    ///
    /// # Safety
    /// To be called in a callback of a CPU or at exit.
    pub(crate) unsafe fn clock(&self, cpu: usize) -> u64 {
        match self {
            Pace::Threads(lockstep) => lockstep.clock(cpu),
            // SAFETY: as the caller promises; it is given back at once.
            Pace::Turns(turns, _) => unsafe { turns.lend() }.clock(cpu),
        }
    }
}
