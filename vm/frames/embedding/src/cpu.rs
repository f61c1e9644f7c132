//! The current CPU, and interrupts.

use core::arch::asm;
use faultline_frames::{CpuNumber, CurrentCpu, PinnedCpu};

/// The current CPU. The first 4 bytes of its own `gs` segment hold its number.
#[derive(Debug)]
pub(crate) struct ThisCpu;

/// Interrupts are off. Dropping this value turns them on again if they were on before.
#[derive(Debug)]
pub(crate) struct InterruptsOff {
    number: CpuNumber,
    flags: u64,
}

// SAFETY: 1. Interrupts are off until the guard is dropped, so neither an interrupt handler nor the scheduler gets the
// CPU. 2. Each CPU has its own number in its `gs` segment: the caller of `frames_init` has ensured it.
unsafe impl CurrentCpu for ThisCpu {
    type Pinned = InterruptsOff;

    #[inline(always)]
    fn pin(&self) -> InterruptsOff {
        let (number, flags): (u32, u64);
        // SAFETY: 1. Kernels may turn off interrupts and read `gs`. 2. The code uses the stack, as the options permit.
        // 3. The compiler must assume that memory changes, so it does not touch the cache before.
        unsafe {
            asm!("pushfq", "pop {flags}", "cli", "mov {number:e}, gs:[0]", flags = out(reg) flags, number = out(reg) number)
        };
        InterruptsOff { number: CpuNumber(number), flags }
    }
}

impl PinnedCpu for InterruptsOff {
    #[inline(always)]
    fn number(&self) -> CpuNumber {
        self.number
    }
}

impl Drop for InterruptsOff {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. The flags are those that `pin` found. 2. As in `pin`; the compiler does not touch the cache after.
        unsafe { asm!("push {flags}", "popfq", flags = in(reg) self.flags) };
    }
}

/// Waits for an interrupt.
pub(crate) fn halt() {
    // SAFETY: kernels may execute it.
    unsafe { asm!("hlt") };
}
