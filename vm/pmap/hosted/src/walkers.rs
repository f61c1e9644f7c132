//! Table walks of CPUs, written from the manuals: no code and no constant of `faultline-pmap`.

pub mod aarch64;
pub mod riscv;
pub mod x86_64;

use std::sync::atomic::AtomicU64;

/// A load, store or fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// A store.
    pub writes: bool,
    /// An instruction fetch.
    pub fetches: bool,
    /// By a program; otherwise by the kernel.
    pub is_user: bool,
}

/// Reason of a page fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No translation.
    Translation,
    /// The translation does not allow the access.
    Permission,
    /// The CPU does not set accessed and dirty bits, and one of them is to be set.
    Bits,
    /// Reserved bits, or a combination of bits that the manual reserves.
    Reserved,
}

/// A translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// Physical address of the byte.
    pub address: u64,
    /// Bytes of the translation's page.
    pub bytes: u64,
    /// Access that the CPU may keep in its TLB.
    pub reads: bool,
    /// As above.
    pub writes: bool,
    /// As above.
    pub fetches: bool,
    /// True if the dirty bit is set.
    pub is_dirty: bool,
    /// True if it is global.
    pub is_global: bool,
    /// The manual's memory type: `WB`, `WC`, `UC` and so on.
    pub memory: &'static str,
}

/// Physical memory: the 8 bytes at an address.
pub type Memory<'a> = &'a dyn Fn(u64) -> &'a AtomicU64;

/// Bits `high` to `low` of a word.
fn bits(word: u64, high: u32, low: u32) -> u64 {
    word >> low & (u64::MAX >> (63 - (high - low)))
}

fn bit(word: u64, number: u32) -> bool {
    word >> number & 1 == 1
}
