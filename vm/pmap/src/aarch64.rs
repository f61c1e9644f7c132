//! AArch64, stage 1 of EL1 and EL0: granule of 4 KiB, addresses of 48 bits (Arm ARM, chapter D8).
//!
//! Needs [`MAIR`] in MAIR_EL1, and TCR_EL1 for inner-shareable write-back walks. Dirty pages are
//! tracked by DBM: with TCR_EL1.{HA, HD} the hardware sets the bits, without them the first use
//! faults, and [`PageTables::mark_used`](crate::PageTables::mark_used) sets them. Writing includes
//! reading. Execute-only pages of programs are possible.

use crate::format::{Format, Leaf, MemoryType, mark, rights, when};
use faultline_memory::Rights;
use faultline_numbers::FrameNumber;

/// Page tables with 4 levels. `IN_PLACE`: each CPU has FEAT_BBM at level 2, and raises no conflict
/// abort (its manual says so; the feature register does not). Otherwise break-before-make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aarch64<const IN_PLACE: bool>;

/// Contents of MAIR_EL1 that memory types need: 0 is write-back, 1 Device-nGnRE, 2 normal memory
/// that is not cached.
pub const MAIR: u64 = 0x44_04_ff;

const VALID: u64 = 1;
/// A table, or a page of level 0; a block otherwise.
const TABLE_OR_PAGE: u64 = 1 << 1;
const TYPE_SHIFT: u32 = 2;
/// AP\[1]: EL0 has access.
const USER: u64 = 1 << 6;
/// AP\[2]: no writes, or with `DBM` none yet.
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 10;
const NOT_GLOBAL: u64 = 1 << 11;
const ADDRESS: u64 = ((1 << 48) - 1) & !0xfff;
/// Dirty bit modifier: writable.
const DBM: u64 = 1 << 51;
const PRIVILEGED_NO_EXECUTE: u64 = 1 << 53;
const USER_NO_EXECUTE: u64 = 1 << 54;
/// Ignored by the hardware: written while it was writable.
const WAS_DIRTY: u64 = 1 << 55;
const MARK_SHIFT: u32 = 56;

// SAFETY: as in the manual's descriptor formats; bits 55 to 58 are for software.
unsafe impl<const IN_PLACE: bool> Format for Aarch64<IN_PLACE> {
    const LEVELS: usize = 4;
    const LARGEST: usize = 2;
    const IN_PLACE: bool = IN_PLACE;
    /// FEAT_BBM permits other sizes of a translation, not another table.
    const REPLACES_TABLES: bool = false;

    #[inline]
    fn table(table: FrameNumber) -> u64 {
        table.address() & ADDRESS | TABLE_OR_PAGE | VALID
    }

    #[inline]
    fn below(_: usize, entry: u64) -> Option<FrameNumber> {
        (entry & (TABLE_OR_PAGE | VALID) == TABLE_OR_PAGE | VALID).then(|| FrameNumber::containing(entry & ADDRESS))
    }

    #[inline]
    fn leaf(level: usize, leaf: Leaf) -> u64 {
        let has = |right| leaf.rights.allows(right);
        let (writes, executes, is_valid) = (has(Rights::WRITE), has(Rights::EXECUTE), leaf.rights != Rights::NONE);
        // An execute-only page has no EL0 access for data.
        let user_data = leaf.is_user && (has(Rights::READ) || writes || !is_valid);
        let memory = match leaf.memory {
            MemoryType::WriteBack => 0,
            MemoryType::Device => 1,
            MemoryType::WriteCombining => 2,
        };
        leaf.frame.address() & ADDRESS
            | when(is_valid, VALID)
            | when(level == 0, TABLE_OR_PAGE)
            | memory << TYPE_SHIFT
            | when(user_data, USER)
            | when(!(writes && leaf.dirty), READ_ONLY)
            | INNER_SHAREABLE
            | when(leaf.accessed, ACCESSED)
            | when(!leaf.is_global, NOT_GLOBAL)
            | when(writes, DBM)
            | when(!executes || leaf.is_user, PRIVILEGED_NO_EXECUTE)
            | when(!executes || !leaf.is_user, USER_NO_EXECUTE)
            | when(leaf.dirty && !writes, WAS_DIRTY)
            | (leaf.mark as u64) << MARK_SHIFT
    }

    #[inline]
    fn decoded(level: usize, entry: u64) -> Option<Leaf> {
        if entry == 0 || level > 0 && entry & TABLE_OR_PAGE != 0 {
            return None;
        }
        let (is_valid, writes) = (entry & VALID != 0, entry & DBM != 0);
        let is_user = entry & USER != 0 || entry & USER_NO_EXECUTE == 0;
        let no_execute = if is_user { USER_NO_EXECUTE } else { PRIVILEGED_NO_EXECUTE };
        let memory = match entry >> TYPE_SHIFT & 7 {
            1 => MemoryType::Device,
            2 => MemoryType::WriteCombining,
            _ => MemoryType::WriteBack,
        };
        Some(Leaf {
            frame: FrameNumber::containing(entry & ADDRESS),
            rights: rights(
                is_valid && (entry & USER != 0 || !is_user),
                is_valid && writes,
                is_valid && entry & no_execute == 0,
            ),
            accessed: entry & ACCESSED != 0,
            dirty: entry & WAS_DIRTY != 0 || writes && entry & READ_ONLY == 0,
            memory,
            is_user,
            is_global: entry & NOT_GLOBAL == 0,
            mark: mark(entry >> MARK_SHIFT),
        })
    }

    #[inline]
    fn publish() {
        #[cfg(target_arch = "aarch64")]
        // SAFETY: barriers; they change no memory and no register.
        unsafe {
            core::arch::asm!("dsb ishst", "isb", options(nostack, preserves_flags));
        }
    }
}
