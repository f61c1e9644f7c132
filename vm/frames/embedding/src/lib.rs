//! How a kernel embeds the allocator: metadata from memory found at boot, the CPU's number from a segment register,
//! interrupts off while a CPU's cache is in use. `check.sh` checks that no call from here can panic.
//!
//! A C kernel links it as it is. A kernel in Rust needs the same few pieces. The crate is empty on other targets.

#![cfg(target_os = "none")]
#![no_std]

mod cpu;
mod entry;
mod reach;

use core::panic::PanicInfo;

/// A kernel has its own panic handler; this one stops the CPU.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        cpu::halt();
    }
}
