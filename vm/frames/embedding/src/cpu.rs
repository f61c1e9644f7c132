//! The CPU that runs, and interrupts.

use core::arch::asm;
use faultline_frames::{CurrentCpu, PinnedCpu};

/// The CPU that runs, told by the first 4 bytes of its own `gs` segment.
#[derive(Debug)]
pub(crate) struct ThisCpu;

/// Interrupts are off; dropping it turns them on again if they were.
#[derive(Debug)]
pub(crate) struct InterruptsOff {
    number: u32,
    flags: u64,
}

// SAFETY: 1. Interrupts are off until the guard is dropped, so that neither an interrupt handler nor the scheduler gets the
// CPU. 2. Each CPU has a number of its own in its `gs` segment: `frames_init`'s caller has seen to it.
unsafe impl CurrentCpu for ThisCpu {
    type Pinned = InterruptsOff;

    #[inline(always)]
    fn pin(&self) -> InterruptsOff {
        let (number, flags);
        // SAFETY: 1. Kernels may turn off interrupts and read `gs`. 2. The stack is used, as the options leave said. 3. Memory is
        // taken to change, so that the cache is not touched before.
        unsafe {
            asm!("pushfq", "pop {flags}", "cli", "mov {number:e}, gs:[0]", flags = out(reg) flags, number = out(reg) number)
        };
        InterruptsOff { number, flags }
    }
}

impl PinnedCpu for InterruptsOff {
    #[inline(always)]
    fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for InterruptsOff {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. The flags are those that `pin` found. 2. As there; the cache is not touched after.
        unsafe { asm!("push {flags}", "popfq", flags = in(reg) self.flags) };
    }
}

/// Waits for an interrupt.
pub(crate) fn halt() {
    // SAFETY: kernels may.
    unsafe { asm!("hlt") };
}
