//! The memory layout of Linux on x86-64: Documentation/arch/x86/x86_64/mm.rst in its source.
//!
//! With randomised regions (`CONFIG_RANDOMIZE_MEMORY` without `nokaslr`) only the direct map is known, because the report contains it.

use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Bytes of `struct page`: 64 in every 64-bit configuration that distributions build.
pub(crate) const STRUCT_PAGE_BYTES: u64 = 64;

/// The beginning of the kernel's own addresses; programs' addresses are below.
pub(crate) const KERNEL_FROM: u64 = 0x8000_0000_0000_0000;

/// The beginning of the kernel's text, variables and modules.
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
