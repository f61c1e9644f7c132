//! Memory that a program allocated with the C library's `malloc` (glibc's, for 64-bit programs):
//! the size and the arena of the memory at an address. Read from the machine's memory while it
//! stands still.
//!
//! An arena's memory is one chunk after the other, each preceded by its size, up to the part that
//! was never allocated. So a heap is recognised by the whole chain, which must lead from the heap's
//! beginning to its end. Chains that do not are left out, as are other allocators, and a heap that
//! was changed at that very moment. A free chunk that is not in a thread's own list is not
//! reported. Source: glibc 2.36, malloc/malloc.c and malloc/arena.c.

use crate::address_space::{PAGE_BYTES, PageTables};
use faultline_record::lens::data::Arena;
use faultline_record::lens::guest_kernel::PhysicalMemory;
use std::ops::Range;

/// Maximum number of mapped ranges that are searched.
const MOST_RANGES: usize = 1 << 16;

/// Maximum number of chunks of a heap.
const MOST_CHUNKS: usize = 1 << 22;

/// Bytes before the address that `malloc` returns: the size of the previous chunk, if it is free,
/// and the chunk's own.
const HEADER_BYTES: u64 = 16;

/// Alignment of chunks and their sizes.
const ALIGNMENT: u64 = 16;

/// Size of the smallest chunk.
const LEAST_BYTES: u64 = 32;

/// Flag in a chunk's size: the previous chunk is in use, or kept for a thread.
const IS_AFTER_USED: u64 = 1;

/// Flag in a chunk's size: the chunk has a mapping of its own.
const IS_MAPPED: u64 = 2;

/// Flag in a chunk's size: the chunk belongs to a thread's arena.
const IS_OF_THREAD: u64 = 4;

/// Flags in a chunk's size.
const FLAGS: u64 = 7;

/// Alignment of a thread arena's memory.
const ARENA_ALIGNMENT: u64 = 64 << 20;

/// Offsets of the description of a thread arena from the beginning of its first memory.
const ARENA_AT: Range<u64> = 0x18..0x48;

/// Offset in the description of an arena: the address from which nothing was ever allocated.
const TOP: u64 = 96;

/// Offsets of the first chunk from the description of an arena.
const FIRST_CHUNK: Range<u64> = 0x800..0xa00;

/// The heaps of a process.
#[derive(Debug, Default)]
pub struct Heaps(Vec<Heap>);

#[derive(Debug)]
struct Heap {
    arena: Arena,
    /// Chunks by address. Memory behind the last one was never allocated.
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    address: u64,
    bytes: u64,
    is_used: bool,
}

/// A byte of allocated memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InHeap {
    pub(crate) arena: Arena,
    /// The address that `malloc` returned.
    pub(crate) address: u64,
    /// Number of usable bytes.
    pub(crate) bytes: u64,
}

impl Heaps {
    /// Reads the heaps of the process that ended the counted part from the memory of a machine that
    /// stands still.
    pub fn read(memory: &dyn PhysicalMemory) -> Self {
        let heaps = |root| Space { tables: PageTables { memory, root } }.heaps();
        Heaps(memory.page_table().map(heaps).unwrap_or_default())
    }

    /// The allocated memory that contains an address; `None` if there is none.
    pub(crate) fn find(&self, address: u64) -> Option<InHeap> {
        self.0.iter().find_map(|heap| heap.find(address))
    }
}

impl Heap {
    fn find(&self, address: u64) -> Option<InHeap> {
        let after = self.chunks.partition_point(|chunk| chunk.address + HEADER_BYTES <= address);
        let &Chunk { address: begin, bytes, .. } = self.chunks[..after].last().filter(|chunk| chunk.is_used)?;
        // The first word of the next chunk belongs to this one.
        let (from, bytes) = (begin + HEADER_BYTES, bytes - HEADER_BYTES / 2);
        (address - from < bytes).then_some(InHeap { arena: self.arena, address: from, bytes })
    }
}

/// The memory of a process.
struct Space<'a> {
    tables: PageTables<'a>,
}

impl Space<'_> {
    fn heaps(&self) -> Vec<Heap> {
        let ranges = self.tables.of_program(MOST_RANGES);
        let mains = ranges.iter().filter_map(|range| Some((Arena::Main, self.main_heap(range.start)?)));
        let begins = ranges.iter().flat_map(|range| {
            let first = range.start.next_multiple_of(ARENA_ALIGNMENT);
            (first..range.end).step_by(ARENA_ALIGNMENT as usize)
        });
        let of_threads = begins.filter_map(|begin| Some((Arena::Thread, self.arena(begin)?)));
        mains.chain(of_threads).map(|(arena, chunks)| Heap { arena, chunks }).collect()
    }

    /// The main arena's chunks, if its memory begins at a page. It ends with a page, behind which
    /// nothing is mapped.
    fn main_heap(&self, begin: u64) -> Option<Vec<Chunk>> {
        self.word(begin).filter(|&before| before == 0)?;
        let is_end = |chunk: Chunk| {
            let end = chunk.address + chunk.bytes;
            end.is_multiple_of(PAGE_BYTES) && self.tables.physical(end).is_none()
        };
        self.chain(begin, Arena::Main, &is_end)
    }

    /// The chunks in the first memory of a thread's arena.
    fn arena(&self, begin: u64) -> Option<Vec<Chunk>> {
        let description = self.word(begin)?;
        let is_first = ARENA_AT.contains(&description.wrapping_sub(begin)) && self.word(begin + 8)? == 0;
        if !is_first {
            return None;
        }
        let top = self.word(description + TOP)?;
        let firsts = (description + FIRST_CHUNK.start).next_multiple_of(ALIGNMENT)..description + FIRST_CHUNK.end;
        firsts
            .step_by(ALIGNMENT as usize)
            .find_map(|first| self.chain(first, Arena::Thread, &|chunk| chunk.address == top))
    }

    /// The chunks from an address up to the last one; `None` if the chain does not lead there.
    fn chain(&self, begin: u64, arena: Arena, is_end: &dyn Fn(Chunk) -> bool) -> Option<Vec<Chunk>> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut address = begin;
        while chunks.len() < MOST_CHUNKS {
            let word = self.word(address + 8)?;
            let is_after_used = word & IS_AFTER_USED != 0;
            let chunk = Chunk { address, bytes: word & !FLAGS, is_used: false };
            let is_plausible = chunk.bytes >= LEAST_BYTES
                && chunk.bytes.is_multiple_of(ALIGNMENT)
                && chunk.bytes < ARENA_ALIGNMENT * PAGE_BYTES
                && word & IS_MAPPED == 0
                && (is_after_used || !chunks.is_empty())
                && (arena == Arena::Thread || word & IS_OF_THREAD == 0);
            if !is_plausible {
                return None;
            }
            if let Some(before) = chunks.last_mut() {
                before.is_used = is_after_used;
            }
            // A free chunk before the end was joined with it.
            if is_end(chunk) {
                return Some(chunks).filter(|chunks| is_after_used && !chunks.is_empty());
            }
            chunks.push(chunk);
            address += chunk.bytes;
        }
        None
    }

    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let is_there = self.tables.memory.read(self.tables.physical(address)?, &mut bytes);
        is_there.then(|| u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u64 = 0x1000;
    const MAIN: u64 = 0x5555_5555_9000;
    const THREAD: u64 = 0x7fff_e400_0000;

    /// Pages of a program from 0x10_0000 on, in the order of mapping; page tables before.
    struct Memory {
        bytes: Vec<u8>,
        tables: u64,
        pages: u64,
    }

    impl PhysicalMemory for Memory {
        fn end(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
            let part = self.bytes.get(address as usize..).and_then(|rest| rest.get(..bytes.len()));
            part.map(|part| bytes.copy_from_slice(part)).is_some()
        }

        fn page_table(&self) -> Option<u64> {
            Some(ROOT)
        }
    }

    impl Memory {
        fn new() -> Self {
            Memory { bytes: vec![0; 2 << 20], tables: 0x2000, pages: 0x10_0000 }
        }

        fn physical(&mut self, address: u64, word: u64) {
            self.bytes[address as usize..][..8].copy_from_slice(&word.to_le_bytes());
        }

        /// Maps the page of an address, unless it is mapped.
        fn map(&mut self, address: u64) -> u64 {
            let mut table = ROOT;
            for level in (0..4).rev() {
                let place = table + 8 * (address >> (12 + 9 * level) & 511);
                let entry = u64::from_le_bytes(*self.bytes[place as usize..].first_chunk().unwrap());
                if entry != 0 {
                    table = entry & !0xfff;
                    continue;
                }
                let next = if level == 0 { &mut self.pages } else { &mut self.tables };
                table = *next;
                *next += PAGE_BYTES;
                self.physical(place, table | 7);
            }
            table + address % PAGE_BYTES
        }

        fn put(&mut self, address: u64, word: u64) {
            let place = self.map(address);
            self.physical(place, word);
        }

        /// Chunks one after the other: their sizes with flags.
        fn chunks(&mut self, first: u64, sizes: &[u64]) {
            sizes.iter().fold(first, |address, size| {
                self.put(address + 8, *size);
                address + (size & !FLAGS)
            });
        }

        /// A main heap with an allocation of 72 bytes behind the first chunk, one over a page that
        /// was never touched, and the rest of 0x21000 bytes.
        fn with_main_heap(last: u64) -> Self {
            let mut memory = Memory::new();
            memory.chunks(MAIN, &[0x291, 0x51, 0x5001, last]);
            memory
        }
    }

    const REST: u64 = 0x2_1000 - 0x290 - 0x50 - 0x5000 + 1;

    fn find(memory: &Memory, address: u64) -> Option<(Arena, u64, u64)> {
        Heaps::read(memory).find(address).map(|found| (found.arena, found.address, found.bytes))
    }

    #[test]
    fn a_chunk_has_its_size_and_arena() {
        let memory = Memory::with_main_heap(REST);
        let begin = MAIN + 0x290 + 16;
        assert_eq!(find(&memory, begin), Some((Arena::Main, begin, 72)));
        assert_eq!(find(&memory, begin + 71), Some((Arena::Main, begin, 72)));
        assert_eq!(find(&memory, begin + 72), None, "the size of the next chunk");
        assert_eq!(find(&memory, begin + 80), Some((Arena::Main, begin + 80, 0x4ff8)));
        assert_eq!(find(&memory, MAIN + 0x20_f00), None, "never given out");
        assert_eq!(find(&memory, MAIN - 1), None);
    }

    #[test]
    fn a_chain_that_does_not_lead_to_the_end_is_no_heap() {
        for last in [REST + 16, 0, 8, REST | IS_MAPPED, REST | IS_OF_THREAD, REST & !IS_AFTER_USED] {
            assert_eq!(find(&Memory::with_main_heap(last), MAIN + 0x2a0), None, "{last:#x}");
        }
        let mut memory = Memory::with_main_heap(REST);
        memory.map(MAIN + 0x2_1000);
        assert_eq!(find(&memory, MAIN + 0x2a0), None, "something is mapped where it should end");
    }

    #[test]
    fn arenas_of_threads_are_found_by_their_description() {
        let mut memory = Memory::new();
        let (description, first) = (THREAD + 0x30, THREAD + 0x8d0);
        memory.put(THREAD, description);
        memory.chunks(first, &[0x295, 0xd5, 0x1000 | 1]);
        memory.put(description + TOP, first + 0x290 + 0xd0);
        let begin = first + 0x290 + 16;
        assert_eq!(find(&memory, begin + 8), Some((Arena::Thread, begin, 0xc8)));
        memory.put(description + TOP, first + 0x290 + 0xe0);
        assert_eq!(find(&memory, begin + 8), None, "the chain misses it");
    }

    #[test]
    fn a_free_chunk_has_no_size() {
        let mut memory = Memory::new();
        memory.chunks(MAIN, &[0x291, 0x51, 0x5000, REST]);
        assert_eq!(find(&memory, MAIN + 0x2a0), None);
        assert!(find(&memory, MAIN + 0x2f0).is_some(), "what follows it is in use");
    }

    #[test]
    fn nothing_is_known_without_a_page_table() {
        struct Bare;
        impl PhysicalMemory for Bare {
            fn end(&self) -> u64 {
                1 << 20
            }
            fn read(&self, _: u64, bytes: &mut [u8]) -> bool {
                bytes.fill(0xff);
                true
            }
        }
        assert_eq!(Heaps::read(&Bare).find(MAIN), None);
    }
}
