// SPDX-License-Identifier: GPL-2.0-or-later
//! Where an access goes: from what QEMU reports to an address that all CPUs share.

use crate::qemu::{MemoryInfo, Qemu};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How addresses are to be understood.
#[derive(Debug)]
pub(crate) enum AddressSpace {
    /// One process: its virtual addresses are what its threads share. Memory that it maps at two addresses counts as two.
    Process,
    /// A kernel with its processes.
    Kernel(DirectMap),
}

/// An address as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: u64,
    /// Reached through a mapping of user space.
    pub(crate) contents: bool,
}

/// From here on addresses are the kernel's.
pub(crate) const KERNEL: u64 = 1 << 63;

/// Where Linux on x86-64 with four levels of page tables and without randomisation maps all memory
/// (Documentation/x86/x86_64/mm.rst).
pub(crate) const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

/// From here on the kernel maps single pages at fixed addresses, among them registers of interrupt controllers.
const FIXED_MAP: u64 = 0xffff_ffff_ff00_0000;

const CHUNK_SHIFT: u32 = 21;
const CHUNK_BYTES: u64 = 1 << CHUNK_SHIFT;

/// Memory of a guest that the table covers: 1 TiB.
const MOST_CHUNKS: usize = 1 << (40 - CHUNK_SHIFT);

/// For each chunk of the direct map, where it is by QEMU's numbers. Learnt at a chunk's first access, since a look-up for each
/// would cost more than all the rest. Chunk 0, with its holes for devices, is never learnt.
#[derive(Debug)]
pub(crate) struct DirectMap {
    /// Number of the chunk's first byte, with bit 0 set; 0 while not known.
    chunks: Box<[AtomicU64]>,
}

impl DirectMap {
    pub(crate) fn new() -> Self {
        DirectMap { chunks: (0..MOST_CHUNKS).map(|_| AtomicU64::new(0)).collect() }
    }

    fn locate(&self, qemu: &Qemu, info: MemoryInfo, address: u64) -> Option<u64> {
        let offset = address - DIRECT_MAP;
        let Some(chunk) = self.chunks.get((offset >> CHUNK_SHIFT) as usize) else {
            return qemu.memory_address(info, address);
        };
        // Relaxed: whoever learns a chunk stores the same number.
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

    /// The guest's physical address of a byte by QEMU's number, if its chunk was learnt; else the number.
    pub(crate) fn physical(&self, number: u64) -> u64 {
        let first = (number & !(CHUNK_BYTES - 1)) | 1;
        // Relaxed: see `locate`.
        let chunk = self.chunks.iter().position(|chunk| chunk.load(Relaxed) == first);
        chunk.map_or(number, |chunk| ((chunk as u64) << CHUNK_SHIFT) + number % CHUNK_BYTES)
    }
}

impl AddressSpace {
    /// Where an access goes; none if not to memory. To be called in its callback.
    ///
    /// The kernel's own addresses outside the direct map are taken as they are: what is there (its image, stacks, the array of page
    /// descriptors) is not reached in another way.
    #[inline]
    pub(crate) fn locate(&self, qemu: &Qemu, info: MemoryInfo, address: u64) -> Option<Place> {
        let kernel_place = |address| Some(Place { address, contents: false });
        match self {
            AddressSpace::Process => kernel_place(address),
            AddressSpace::Kernel(map) => {
                if address < KERNEL {
                    qemu.memory_address(info, address).map(|address| Place { address, contents: true })
                } else if address.wrapping_sub(DIRECT_MAP) < 1 << 46 {
                    map.locate(qemu, info, address).and_then(kernel_place)
                } else if address >= FIXED_MAP {
                    qemu.memory_address(info, address).and_then(|_| kernel_place(address))
                } else {
                    kernel_place(address)
                }
            }
        }
    }
}
