// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the CPUs of a machine in step, which run on one thread.

use crate::one_thread::OneThread;
use crate::overlap::Times;
use crate::scheduler::Scheduler;
use crate::turns::{Spent, Turns};

/// How CPUs are kept in step.
pub(crate) struct Pace {
    /// Whose turn it is, and the clocks.
    pub(crate) turns: OneThread<Turns>,
    /// Ends turns.
    pub(crate) scheduler: Scheduler,
}

impl Pace {
    /// With the CPUs' clocks, and what ends their turns.
    pub(crate) fn new(turns: Turns, scheduler: Scheduler) -> Self {
        Pace { turns: OneThread::new(turns), scheduler }
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

    /// What the clocks were spent on.
    ///
    /// # Safety
    /// Call it in a callback of a CPU or at exit.
    pub(crate) unsafe fn spent(&self) -> Spent {
        // SAFETY: as the caller promises; it is given back at once.
        unsafe { self.turns.lend() }.spent()
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
