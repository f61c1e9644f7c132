//! Where Linux on x86-64 keeps what: Documentation/arch/x86/x86_64/mm.rst in its source.
//!
//! With randomised regions (`CONFIG_RANDOMIZE_MEMORY` and no `nokaslr`) nothing is known but the direct map, which the report tells.

use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Bytes of `struct page`: 64 in every configuration for 64 bits that distributions build.
pub(crate) const STRUCT_PAGE_BYTES: u64 = 64;

/// Where the kernel's own addresses begin; below are those of programs.
pub(crate) const KERNEL_FROM: u64 = 0x8000_0000_0000_0000;

/// Where the kernel's text, variables and modules begin.
pub(crate) const IMAGE_FROM: u64 = 0xffff_ffff_8000_0000;

/// Regions whose place depends on the levels of the page tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Regions {
    /// Stacks of tasks, and what is mapped page by page.
    pub(crate) vmalloc: Range<u64>,
    /// The array of `struct page`.
    pub(crate) pages: Range<u64>,
}

/// The regions that belong to a direct map at that address; none where it is not at its usual place.
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
