//! The region marks, as in `workloads/harness/faultline_mark.h`: instructions that change nothing, and that an observer
//! of the instruction stream recognises.

use std::arch::asm;

/// The region begins. It is a separate function, because what follows a mark within its translation block is not
/// counted.
#[inline(never)]
pub(crate) fn region_begin() {
    // SAFETY: `nopl 0x00464101(%rax)` reads nothing and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00", options(nostack, preserves_flags));
    }
    // SAFETY: each register keeps its value.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(".inst 0xaa090129, 0xaa0a014a", options(nostack, preserves_flags));
    }
}

/// The region ends.
#[inline(never)]
pub(crate) fn region_end() {
    // SAFETY: `nopl 0x00464102(%rax)` reads nothing and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00", options(nostack, preserves_flags));
    }
    // SAFETY: each register keeps its value.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(".inst 0xaa0a014a, 0xaa090129", options(nostack, preserves_flags));
    }
}
