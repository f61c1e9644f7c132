//! How a kernel embeds the allocator: metadata from memory found at boot, the CPU's number from a segment register, interrupts
//! off while a CPU's cache is in use. `check.sh` holds that no call from here can panic.
//!
//! A C kernel links it as it is; one written in Rust has the same few pieces. Nothing of it exists on other targets.

#![cfg(target_os = "none")]
#![no_std]

mod cpu;
mod entry;
mod reach;

use core::panic::PanicInfo;

/// Kernels have their own: this one stops the CPU.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        cpu::halt();
    }
}
