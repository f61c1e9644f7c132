//! The page tables of x86-64 with four levels: the physical address of a virtual one, and what a program has mapped.

use crate::kernel_layout::PAGE_BYTES;
use faultline_model::lens::memory::PhysicalMemory;
use std::ops::Range;

/// In an entry of a page table: it leads somewhere.
pub(crate) const PRESENT: u64 = 1;

/// In an entry above the lowest level: it maps a large page.
pub(crate) const LARGE: u64 = 1 << 7;

/// In an entry: the frame that it leads to.
pub(crate) const FRAME: u64 = 0x000f_ffff_ffff_f000;

/// Bits of an address that one level translates.
pub(crate) const LEVEL_BITS: u32 = 9;

/// Entries of a page table.
pub(crate) const ENTRIES: u64 = 1 << LEVEL_BITS;

/// The topmost level; the lowest is 0.
const TOP: u32 = 3;

/// Most tables that are read of an address space: those of 128 GiB. More are those of a process that is gone, whose tables hold something else.
const MOST_TABLES: usize = 1 << 16;

/// Entries of the topmost table for programs; the others are the kernel's.
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

    /// What a program has mapped, from the lowest address on; what follows each other is one range. At most `most` ranges.
    pub(crate) fn of_program(&self, most: usize) -> Vec<Range<u64>> {
        let mut listing = Listing { found: Vec::new(), most, tables_left: MOST_TABLES };
        self.put_ranges((self.root, TOP, 0), FOR_PROGRAMS, &mut listing);
        listing.found
    }

    /// Adds what the first entries of a table map: the table, its level, and the first address that it translates.
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

    /// An entry of a page table, if it leads somewhere.
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

/// Whether an entry leads to a page, and not to another table.
fn is_page(entry: u64, level: u32) -> bool {
    level == 0 || level < TOP && entry & LARGE != 0
}

/// Bits of an address below those that a level translates.
fn shift(level: u32) -> u32 {
    PAGE_BYTES.trailing_zeros() + level * LEVEL_BITS
}
