//! The memory of a Linux kernel at its own virtual addresses: translated by the direct map and the kernel's page tables.

use crate::kallsyms::Kallsyms;
use crate::kernel_layout::{IMAGE_FROM, PAGE_BYTES};
use faultline_model::lens::memory::PhysicalMemory;
use std::ops::Range;

/// Virtual address of the direct map with four levels of page tables and without randomisation.
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// Virtual address of the array of `struct page`, likewise.
const PAGES: u64 = 0xffff_ea00_0000_0000;

/// More than any kernel knows.
const MOST_CPUS: u64 = 1 << 13;

/// The text with which a kernel of Linux describes itself.
const BANNER: &[u8] = b"Linux version ";

/// In an entry of a page table: it leads somewhere.
pub(super) const PRESENT: u64 = 1;

/// In an entry above the lowest level: it maps a large page.
pub(super) const LARGE: u64 = 1 << 7;

/// In an entry: the frame that it leads to.
pub(super) const FRAME: u64 = 0x000f_ffff_ffff_f000;

/// Bits of an address that one level translates.
pub(super) const LEVEL_BITS: u32 = 9;

/// Entries of a page table.
pub(super) const ENTRIES: u64 = 1 << LEVEL_BITS;

/// A kernel's memory.
pub(super) struct Mapped<'a> {
    pub(super) memory: &'a dyn PhysicalMemory,
    pub(super) symbols: &'a Kallsyms,
    /// Physical address of the kernel's page table.
    pub(super) root: u64,
    pub(super) direct_map: u64,
    /// Address of the array of `struct page`.
    pub(super) pages: u64,
}

impl<'a> Mapped<'a> {
    /// `None` if the kernel is not where its symbols say, or its page tables have five levels.
    pub(super) fn new(memory: &'a dyn PhysicalMemory, symbols: &'a Kallsyms) -> Option<Self> {
        let table = symbols.table.address_of("init_top_pgt")?.checked_sub(IMAGE_FROM)?;
        let mut mapped = Mapped { memory, symbols, root: table, direct_map: DIRECT_MAP, pages: PAGES };
        let banner = symbols.table.address_of("linux_banner")?;
        let mut text = [0; BANNER.len()];
        let is_there = mapped.read(banner, &mut text) && text == BANNER;
        if !is_there || mapped.physical(IMAGE_FROM + table) != Some(table) {
            return None;
        }
        // A kernel that can move them keeps their addresses in variables.
        let moved = |name: &str| mapped.word(symbols.table.address_of(name)?);
        (mapped.direct_map, mapped.pages) =
            (moved("page_offset_base").unwrap_or(DIRECT_MAP), moved("vmemmap_base").unwrap_or(PAGES));
        Some(mapped)
    }

    /// The physical address of a virtual one; `None` if nothing is mapped there.
    pub(super) fn physical(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.direct_map);
        if offset < self.memory.end() {
            return Some(offset);
        }
        let mut table = self.root;
        for level in (0..4).rev() {
            let shift = PAGE_BYTES.trailing_zeros() + level * LEVEL_BITS;
            let entry = self.entry(table, address >> shift & (ENTRIES - 1))?;
            if level == 0 || (level < 3 && entry & LARGE != 0) {
                let below = (1u64 << shift) - 1;
                return Some((entry & FRAME & !below) | (address & below));
            }
            table = entry & FRAME;
        }
        None
    }

    /// An entry of a page table, if it leads somewhere.
    fn entry(&self, table: u64, index: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let is_there = self.memory.read(table + 8 * index, &mut bytes);
        Some(u64::from_le_bytes(bytes)).filter(|entry| is_there && entry & PRESENT != 0)
    }

    /// Fills `bytes` from a virtual address on. Returns whether all of them are mapped.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let (mut address, mut bytes) = (address, bytes);
        while !bytes.is_empty() {
            let in_page = (PAGE_BYTES - address % PAGE_BYTES).min(bytes.len() as u64);
            let (part, rest) = bytes.split_at_mut(in_page as usize);
            if !self.physical(address).is_some_and(|physical| self.memory.read(physical, part)) {
                return false;
            }
            (address, bytes) = (address.wrapping_add(in_page), rest);
        }
        true
    }

    /// A number of up to eight bytes.
    pub(super) fn number(&self, address: u64, size: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let part = bytes.get_mut(..usize::try_from(size).ok()?)?;
        self.read(address, part).then(|| u64::from_le_bytes(bytes))
    }

    /// A word of eight bytes.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.number(address, 8)
    }

    /// A text up to its NUL byte, at most `longest` bytes.
    pub(super) fn text(&self, address: u64, longest: usize) -> Option<String> {
        let mut bytes = Vec::new();
        while bytes.len() < longest {
            let mut byte = [0];
            if !self.read(address.wrapping_add(bytes.len() as u64), &mut byte) {
                return None;
            }
            if byte == [0] {
                break;
            }
            bytes.push(byte[0]);
        }
        String::from_utf8(bytes).ok()
    }

    /// The entries of a list, each the address of a `list_head`, at most `most`; stops where the list leaves memory.
    pub(super) fn list(&self, head: u64, most: usize) -> Vec<u64> {
        let mut entries = Vec::new();
        let mut next = self.word(head);
        while let Some(entry) = next.filter(|&entry| entry != head && entries.len() < most) {
            entries.push(entry);
            next = self.word(entry);
        }
        entries
    }

    /// The addresses without a CPU's offset that a CPU's first area has behind the variables.
    pub(super) fn first_area(&self) -> Option<Range<u64>> {
        let edge = |name: &str| self.symbols.table.address_of(name);
        let (from, named_to) = (edge("__per_cpu_start")?, edge("__per_cpu_end")?);
        let size = self.number(edge("pcpu_unit_size")?, 4)?;
        Some(named_to..from.checked_add(size)?)
    }

    /// The offsets of the CPUs' own variables, from CPU 0.
    pub(super) fn per_cpu_offsets(&self) -> Vec<u64> {
        let Some(array) = self.symbols.table.address_of("__per_cpu_offset") else { return Vec::new() };
        let offset = |cpu: u64| self.word(array.wrapping_add(8 * cpu));
        // CPUs that the machine doesn't have keep an offset into the image.
        let is_own = |offset: &u64| offset.wrapping_sub(self.direct_map) < IMAGE_FROM.wrapping_sub(self.direct_map);
        (0..MOST_CPUS).map_while(|cpu| offset(cpu).filter(is_own)).collect()
    }
}
