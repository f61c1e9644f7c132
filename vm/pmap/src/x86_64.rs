//! x86-64 with 4 or 5 levels (Intel SDM volume 3, chapter 4).
//!
//! Needs EFER.NXE, CR4.PGE for global pages, and [`PAT`] in the register of that name. Writing and
//! executing include reading. Some CPUs of AMD's family 10h (erratum 383) may not hold a large and
//! a small translation of one page, so must not use large pages of programs.

use crate::format::{Format, Leaf, MemoryType, mark, rights, when};
use faultline_memory::Rights;
use faultline_numbers::FrameNumber;

/// Page tables with this number of levels: 4, or 5 with CR4.LA57.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct X86_64<const LEVELS: usize>;

/// Contents of the register IA32_PAT that memory types need: as at power-on, with write-combining
/// as type 4.
pub const PAT: u64 = 0x0007_0401_0007_0406;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// PWT and PCD: type 3, uncached.
const UNCACHED: u64 = 3 << 3;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
/// Above level 0: the entry translates.
const LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
const MARK_SHIFT: u32 = 9;
const ADDRESS: u64 = ((1 << 52) - 1) & !0xfff;
const NO_EXECUTE: u64 = 1 << 63;

/// Bit that selects types 4 to 7.
const fn upper_types(level: usize) -> u64 {
    if level == 0 { 1 << 7 } else { 1 << 12 }
}

/// Address bits of an entry that translates.
const fn address_bits(level: usize) -> u64 {
    if level == 0 { ADDRESS } else { ADDRESS & !upper_types(level) }
}

// SAFETY: as in the manual's tables of entry formats; bits 9 and 10 are ignored by the hardware.
unsafe impl<const LEVELS: usize> Format for X86_64<LEVELS> {
    const LEVELS: usize = LEVELS;
    const LARGEST: usize = if LEVELS > 2 { 2 } else { 1 };
    const IN_PLACE: bool = true;
    const REPLACES_TABLES: bool = true;

    #[inline]
    fn table(table: FrameNumber) -> u64 {
        table.address() | PRESENT | WRITABLE | USER
    }

    #[inline]
    fn below(_: usize, entry: u64) -> Option<FrameNumber> {
        (entry & (PRESENT | LARGE) == PRESENT).then(|| FrameNumber::containing(entry & ADDRESS))
    }

    #[inline]
    fn leaf(level: usize, leaf: Leaf) -> u64 {
        // Without rights the address is inverted: it then lies outside memory, of which CPUs read
        // ahead on entries that are not present (L1TF).
        let is_present = leaf.rights != Rights::NONE;
        let address = leaf.frame.address() ^ when(!is_present, ADDRESS);
        let memory = match leaf.memory {
            MemoryType::WriteBack => 0,
            MemoryType::WriteCombining => upper_types(level),
            MemoryType::Device => UNCACHED,
        };
        address & address_bits(level)
            | when(is_present, PRESENT)
            | when(leaf.rights.allows(Rights::WRITE), WRITABLE)
            | when(!leaf.rights.allows(Rights::EXECUTE), NO_EXECUTE)
            | when(leaf.is_user, USER)
            | when(leaf.accessed, ACCESSED)
            | when(leaf.dirty, DIRTY)
            | when(level > 0, LARGE)
            | when(leaf.is_global, GLOBAL)
            | memory
            | (leaf.mark as u64) << MARK_SHIFT
    }

    #[inline]
    fn decoded(level: usize, entry: u64) -> Option<Leaf> {
        let is_present = entry & PRESENT != 0;
        if entry == 0 || level > 0 && entry & LARGE == 0 {
            return None;
        }
        let memory = match (entry & upper_types(level) != 0, entry & UNCACHED != 0) {
            (true, _) => MemoryType::WriteCombining,
            (false, true) => MemoryType::Device,
            (false, false) => MemoryType::WriteBack,
        };
        Some(Leaf {
            frame: FrameNumber::containing((entry ^ when(!is_present, ADDRESS)) & address_bits(level)),
            rights: rights(is_present, entry & WRITABLE != 0, is_present && entry & NO_EXECUTE == 0),
            accessed: entry & ACCESSED != 0,
            dirty: entry & DIRTY != 0,
            memory,
            is_user: entry & USER != 0,
            is_global: entry & GLOBAL != 0,
            mark: mark(entry >> MARK_SHIFT),
        })
    }
}
