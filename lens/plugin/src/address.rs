// SPDX-License-Identifier: GPL-2.0-or-later
//! Maps the address of an access to an address that all CPUs share.

use crate::qemu::{MemoryInfo, Qemu};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The rule that identifies places in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addresses {
    /// By the rules of Linux: most kernel addresses are the only address of their place.
    Linux,
    /// By physical address: each access is looked up. Works for any kernel.
    Physical,
}

/// The address space of a kernel with its processes.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    rule: Addresses,
    map: DirectMap,
}

/// A counted address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedAddress {
    pub(crate) address: u64,
    /// Reached through a mapping of user space.
    pub(crate) contents: bool,
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// First address of the kernel.
pub(crate) const KERNEL: u64 = 1 << 63;

/// First address of the direct map of all memory: Linux on x86-64 with four levels of page tables
/// and without randomisation (Documentation/x86/x86_64/mm.rst).
pub(crate) const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// First address of the fixed map, where the kernel maps single pages, including registers of
/// interrupt controllers.
pub(crate) const FIXED_MAP: u64 = 0xffff_ffff_ff00_0000;

const CHUNK_SHIFT: u32 = 21;
const CHUNK_BYTES: u64 = 1 << CHUNK_SHIFT;

/// Number of chunks in the table: 1 TiB of guest memory.
const MOST_CHUNKS: usize = 1 << (40 - CHUNK_SHIFT);

/// For each chunk of the direct map, its address in QEMU's numbering. It is learnt at the chunk's
/// first access, because a look-up for each access would cost more than everything else. Chunk 0,
/// which has holes for devices, is never learnt.
#[derive(Debug)]
struct DirectMap {
    /// Number of the chunk's first byte, with bit 0 set; 0 if not known yet.
    chunks: Box<[AtomicU64]>,
}

impl DirectMap {
    fn new() -> Self {
        DirectMap { chunks: (0..MOST_CHUNKS).map(|_| AtomicU64::new(0)).collect() }
    }

    fn locate(&self, qemu: &Qemu, info: MemoryInfo, address: u64) -> Option<u64> {
        let offset = address - DIRECT_MAP;
        let Some(chunk) = self.chunks.get((offset >> CHUNK_SHIFT) as usize) else {
            return qemu.memory_address(info, address);
        };
        // Relaxed: all CPUs that learn a chunk store the same number.
        match chunk.load(Relaxed) {
            0 => {
                let found = qemu.memory_address(info, address)?;
                if offset >= CHUNK_BYTES {
                    // Relaxed: as above.
                    chunk.store(found.wrapping_sub(offset % CHUNK_BYTES) | 1, Relaxed);
                }
                Some(found)
            }
            known => Some((known & !1) + offset % CHUNK_BYTES),
        }
    }

    /// The chunks learnt so far.
    fn learnt(&self) -> Chunks {
        // Relaxed: see `locate`.
        let known = self.chunks.iter().map(|chunk| chunk.load(Relaxed)).zip(0..).filter(|(first, _)| *first != 0);
        Chunks(known.collect())
    }
}

/// Chunks of the direct map by their word in [`DirectMap`].
#[derive(Debug)]
pub(crate) struct Chunks(BTreeMap<u64, u64>);

impl Chunks {
    /// The guest's physical address of the byte with QEMU's number `number`; `number` itself if its
    /// chunk was not learnt.
    pub(crate) fn physical(&self, number: u64) -> u64 {
        let first = (number & !(CHUNK_BYTES - 1)) | 1;
        self.0.get(&first).map_or(number, |chunk| (chunk << CHUNK_SHIFT) + number % CHUNK_BYTES)
    }
}

impl AddressSpace {
    pub(crate) fn new(rule: Addresses) -> Self {
        AddressSpace { rule, map: DirectMap::new() }
    }

    /// True if the kernel's use of an address leads to the same place as long as the machine runs.
    #[inline]
    pub(crate) fn is_fixed(&self, address: u64) -> bool {
        self.rule == Addresses::Linux && address >= KERNEL
    }

    /// The chunks of the direct map that the kernel reached.
    pub(crate) fn learnt(&self) -> Chunks {
        self.map.learnt()
    }

    /// Number of bytes of an access to `size` bytes that lie where [`locate`](Self::locate)
    /// returns. A program's access that crosses the end of a page continues elsewhere: the next
    /// page of the mapping is rarely the next page of memory. QEMU reports only where such an
    /// access begins. The direct map follows memory, and other kernel addresses are not translated.
    #[inline]
    pub(crate) fn located_bytes(address: u64, size: u8) -> u8 {
        let left = PAGE_BYTES - address % PAGE_BYTES;
        if address < KERNEL && u64::from(size) > left { left as u8 } else { size }
    }

    /// The place of an access; `None` if it does not go to memory. Call only in the access's
    /// callback.
    ///
    /// The kernel's addresses outside the direct map are not translated: nothing else maps that
    /// memory (its image, stacks, the array of page descriptors).
    #[inline]
    pub(crate) fn locate(&self, qemu: &Qemu, info: MemoryInfo, address: u64) -> Option<CountedAddress> {
        let kernel_place = |address| Some(CountedAddress { address, contents: false });
        if address < KERNEL || self.rule == Addresses::Physical {
            let contents = address < KERNEL;
            qemu.memory_address(info, address).map(|address| CountedAddress { address, contents })
        } else if address.wrapping_sub(DIRECT_MAP) < 1 << 46 {
            self.map.locate(qemu, info, address).and_then(kernel_place)
        } else if address >= FIXED_MAP {
            qemu.memory_address(info, address).and_then(|_| kernel_place(address))
        } else {
            kernel_place(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_access_ends_with_its_page() {
        let bytes = AddressSpace::located_bytes;
        assert_eq!(
            [bytes(0x7f00_0000_1ff0, 16), bytes(0x7f00_0000_1ff1, 16), bytes(0x7f00_0000_1fff, 32)],
            [16, 15, 1]
        );
        assert_eq!(bytes(0x7f00_0000_2000, 64), 64);
        assert_eq!([bytes(DIRECT_MAP + 0x1fff, 8), bytes(FIXED_MAP - 1, 8)], [8, 8]);
    }
}
