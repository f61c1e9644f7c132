//! RISC-V Sv39 and Sv48 (privileged architecture, chapters "Sv39" and "Sv48").
//!
//! With Svadu the hardware sets accessed and dirty bits; without it the first use faults, and
//! [`PageTables::mark_used`](crate::PageTables::mark_used) sets them. Writing includes reading;
//! execute-only pages are possible. A CPU may have cached that an entry was invalid: the fault that
//! follows flushes the page, as `vm/memory` does for an entry that allows the access.

use crate::format::{Format, Leaf, MemoryType, mark, rights, when};
use faultline_memory::Rights;
use faultline_numbers::FrameNumber;

/// Page tables with this number of levels: 3 for Sv39, 4 for Sv48. `TYPES`: each CPU has Svpbmt.
/// Otherwise the physical address alone decides the memory type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Riscv<const LEVELS: usize, const TYPES: bool>;

/// Sv39 without memory types.
pub type Sv39 = Riscv<3, false>;
/// Sv48 without memory types.
pub type Sv48 = Riscv<4, false>;

const VALID: u64 = 1;
const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 2;
const EXECUTE: u64 = 1 << 3;
const USER: u64 = 1 << 4;
const GLOBAL: u64 = 1 << 5;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;
/// RSW: for software.
const MARK_SHIFT: u32 = 8;
const FRAME_SHIFT: u32 = 10;
const FRAME: u64 = (1 << 44) - 1;
const TYPE_SHIFT: u32 = 61;

// SAFETY: as in the manual's figures of entries; bits 8 and 9 are for software.
unsafe impl<const LEVELS: usize, const TYPES: bool> Format for Riscv<LEVELS, TYPES> {
    const LEVELS: usize = LEVELS;
    /// 1 GiB; pages of 512 GiB are not used.
    const LARGEST: usize = 2;
    const IN_PLACE: bool = true;
    const REPLACES_TABLES: bool = true;

    #[inline]
    fn table(table: FrameNumber) -> u64 {
        (table.0 & FRAME) << FRAME_SHIFT | VALID
    }

    #[inline]
    fn below(_: usize, entry: u64) -> Option<FrameNumber> {
        (entry & (VALID | READ | WRITE | EXECUTE) == VALID).then_some(FrameNumber(entry >> FRAME_SHIFT & FRAME))
    }

    #[inline]
    fn leaf(_: usize, leaf: Leaf) -> u64 {
        let has = |right| leaf.rights.allows(right);
        let memory = match leaf.memory {
            MemoryType::WriteBack => 0,
            MemoryType::WriteCombining => 1,
            MemoryType::Device => 2,
        };
        (leaf.frame.0 & FRAME) << FRAME_SHIFT
            | when(leaf.rights != Rights::NONE, VALID)
            | when(has(Rights::READ) || has(Rights::WRITE), READ)
            | when(has(Rights::WRITE), WRITE)
            | when(has(Rights::EXECUTE), EXECUTE)
            | when(leaf.is_user, USER)
            | when(leaf.is_global, GLOBAL)
            | when(leaf.accessed, ACCESSED)
            | when(leaf.dirty, DIRTY)
            | when(TYPES, memory << TYPE_SHIFT)
            | (leaf.mark as u64) << MARK_SHIFT
    }

    #[inline]
    fn decoded(_: usize, entry: u64) -> Option<Leaf> {
        // An entry of a table has no mark.
        if entry >> MARK_SHIFT & 3 == 0 {
            return None;
        }
        let memory = match entry >> TYPE_SHIFT & 3 {
            1 => MemoryType::WriteCombining,
            2 => MemoryType::Device,
            _ => MemoryType::WriteBack,
        };
        Some(Leaf {
            frame: FrameNumber(entry >> FRAME_SHIFT & FRAME),
            rights: rights(entry & READ != 0, entry & WRITE != 0, entry & EXECUTE != 0),
            accessed: entry & ACCESSED != 0,
            dirty: entry & DIRTY != 0,
            memory,
            is_user: entry & USER != 0,
            is_global: entry & GLOBAL != 0,
            mark: mark(entry >> MARK_SHIFT),
        })
    }

    #[inline]
    fn publish() {
        #[cfg(any(target_arch = "riscv64", target_arch = "riscv32"))]
        // SAFETY: a barrier; it changes no memory and no register.
        unsafe {
            core::arch::asm!("fence rw, rw", options(nostack, preserves_flags));
        }
    }
}
