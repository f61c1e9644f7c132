//! The memory of a Linux kernel at its own virtual addresses, translated by the direct map and the
//! kernel's page tables.

use crate::address_space::{IMAGE_FROM, PAGE_BYTES, PageTables};
use crate::kallsyms::Kallsyms;
use faultline_record::lens::guest_kernel::PhysicalMemory;
use std::ops::Range;

/// Virtual address of the direct map with four levels of page tables and without randomisation.
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// Virtual address of the array of `struct page`, likewise.
const PAGES: u64 = 0xffff_ea00_0000_0000;

/// Upper bound of the number of CPUs.
const MOST_CPUS: u64 = 1 << 13;

/// Beginning of a Linux kernel's description of itself.
const BANNER: &[u8] = b"Linux version ";

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
    /// Finds the kernel; `None` if it is not at the address that its symbols give, or its page
    /// tables have five levels.
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
        PageTables { memory: self.memory, root: self.root }.physical(address)
    }

    /// Fills `bytes` from a virtual address on. Returns true if all of them are mapped.
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

    /// The entries of a list, each the address of a `list_head`; at most `most`. Stops where the
    /// list leaves memory.
    pub(super) fn list(&self, head: u64, most: usize) -> Vec<u64> {
        let mut entries = Vec::new();
        let mut next = self.word(head);
        while let Some(entry) = next.filter(|&entry| entry != head && entries.len() < most) {
            entries.push(entry);
            next = self.word(entry);
        }
        entries
    }

    /// Addresses in a CPU's first area behind the variables, without the CPU's offset.
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
        // CPUs that the machine does not have keep an offset into the image.
        let is_own = |offset: &u64| offset.wrapping_sub(self.direct_map) < IMAGE_FROM.wrapping_sub(self.direct_map);
        (0..MOST_CPUS).map_while(|cpu| offset(cpu).filter(is_own)).collect()
    }
}
