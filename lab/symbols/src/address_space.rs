//! The address space of Linux on x86-64: its regions (Documentation/arch/x86/x86_64/mm.rst), and
//! page tables with four levels.
//!
//! With randomised regions (`CONFIG_RANDOMIZE_MEMORY` without `nokaslr`) only the direct map is
//! known, because the report contains it.

use faultline_record::lens::guest_kernel::PhysicalMemory;
use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Size of `struct page`: 64 in every 64-bit configuration that distributions build.
pub(crate) const STRUCT_PAGE_BYTES: u64 = 64;

/// First address of the kernel; programs' addresses are below.
pub(crate) const KERNEL_FROM: u64 = 0x8000_0000_0000_0000;

/// First address of the kernel's text, variables and modules.
pub(crate) const IMAGE_FROM: u64 = 0xffff_ffff_8000_0000;

/// Regions whose place depends on the number of page-table levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Regions {
    /// Stacks of tasks, and memory that is mapped page by page.
    pub(crate) vmalloc: Range<u64>,
    /// The array of `struct page`.
    pub(crate) pages: Range<u64>,
}

/// The regions that belong to a direct map at that address; `None` if it is not at its usual place.
pub(crate) fn regions(direct_map: u64) -> Option<Regions> {
    match direct_map {
        0xffff_8880_0000_0000 => Some(Regions {
            vmalloc: 0xffff_c900_0000_0000..0xffff_e900_0000_0000,
            pages: 0xffff_ea00_0000_0000..0xffff_eb00_0000_0000,
        }),
        0xff11_0000_0000_0000 => Some(Regions {
            vmalloc: 0xffa0_0000_0000_0000..0xffd2_0000_0000_0000,
            pages: 0xffd4_0000_0000_0000..0xffd6_0000_0000_0000,
        }),
        _ => None,
    }
}

/// Flag of a page-table entry: it is present.
pub(crate) const PRESENT: u64 = 1;

/// Flag of an entry above the lowest level: it maps a large page.
pub(crate) const LARGE: u64 = 1 << 7;

/// Mask of the frame address in an entry.
pub(crate) const FRAME: u64 = 0x000f_ffff_ffff_f000;

/// Bits of an address that one level translates.
pub(crate) const LEVEL_BITS: u32 = 9;

/// Entries of a page table.
pub(crate) const ENTRIES: u64 = 1 << LEVEL_BITS;

/// The topmost level; the lowest is 0.
const TOP: u32 = 3;

/// Maximum number of tables read of an address space: those of 128 GiB. A process that is gone may
/// seem to have more, because its tables hold other data.
const MOST_TABLES: usize = 1 << 16;

/// Number of entries of the topmost table for programs; the others are the kernel's.
const FOR_PROGRAMS: u64 = ENTRIES / 2;

/// An address space, by its topmost page table.
#[derive(Clone, Copy)]
pub(crate) struct PageTables<'a> {
    pub(crate) memory: &'a dyn PhysicalMemory,
    /// Physical address of the topmost table.
    pub(crate) root: u64,
}

impl PageTables<'_> {
    /// The physical address of a virtual one; `None` if nothing is mapped there.
    pub(crate) fn physical(&self, address: u64) -> Option<u64> {
        let mut table = self.root;
        for level in (0..=TOP).rev() {
            let entry = self.entry(table, address >> shift(level) & (ENTRIES - 1))?;
            if is_page(entry, level) {
                let below = (1u64 << shift(level)) - 1;
                return Some((entry & FRAME & !below) | (address & below));
            }
            table = entry & FRAME;
        }
        None
    }

    /// The mapped ranges of a program, by address. Adjacent ranges are joined; at most `most`
    /// ranges.
    pub(crate) fn of_program(&self, most: usize) -> Vec<Range<u64>> {
        let mut listing = Listing { found: Vec::new(), most, tables_left: MOST_TABLES };
        self.put_ranges((self.root, TOP, 0), FOR_PROGRAMS, &mut listing);
        listing.found
    }

    /// Adds the ranges that the first entries of a table map: the table, its level, and the first
    /// address that it translates.
    fn put_ranges(&self, (table, level, from): (u64, u32, u64), entries: u64, listing: &mut Listing) {
        let mut bytes = [0; PAGE_BYTES as usize];
        let Some(left) = listing.tables_left.checked_sub(1) else { return };
        listing.tables_left = left;
        if !self.memory.read(table, &mut bytes) {
            return;
        }
        let (words, _) = bytes.as_chunks::<8>();
        for (word, index) in words.iter().zip(0..entries) {
            let entry = u64::from_le_bytes(*word);
            let from = from + (index << shift(level));
            match entry & PRESENT != 0 {
                true if is_page(entry, level) => listing.put(from..from + (1 << shift(level))),
                true => self.put_ranges((entry & FRAME, level - 1, from), ENTRIES, listing),
                false => {}
            }
        }
    }

    /// An entry of a page table, if it is present.
    fn entry(&self, table: u64, index: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let is_there = self.memory.read(table + 8 * index, &mut bytes);
        Some(u64::from_le_bytes(bytes)).filter(|entry| is_there && entry & PRESENT != 0)
    }
}

/// Ranges of mapped memory in the making.
struct Listing {
    found: Vec<Range<u64>>,
    most: usize,
    tables_left: usize,
}

impl Listing {
    fn put(&mut self, range: Range<u64>) {
        let has_room = self.found.len() < self.most;
        match self.found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if has_room => self.found.push(range),
            _ => {}
        }
    }
}

/// True if an entry leads to a page, not to another table.
fn is_page(entry: u64, level: u32) -> bool {
    level == 0 || level < TOP && entry & LARGE != 0
}

/// Number of address bits below those that a level translates.
fn shift(level: u32) -> u32 {
    PAGE_BYTES.trailing_zeros() + level * LEVEL_BITS
}
