//! Virtual pages, page ranges and access rights.

use crate::error::SpaceError;
use core::fmt::{self, Display};
use core::ops::BitOr;

/// Bound of the page numbers of all spaces: addresses have 57 bits. Each space has narrower limits
/// of its own: [`Machine::pages`](crate::Machine::pages).
#[cfg(not(all(loom, test)))]
pub const SPACE_PAGES: u64 = 1 << 45;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
pub const SPACE_PAGES: u64 = 4;

/// A page of an address space: a virtual address divided by 4096.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct VirtualPage(pub u64);

impl VirtualPage {
    /// The page that holds a virtual address.
    pub const fn containing(address: u64) -> Self {
        Self(address / faultline_numbers::FRAME_BYTES)
    }
}

impl Display for VirtualPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "virtual page {:#x}", self.0)
    }
}

/// A non-empty range of pages below [`SPACE_PAGES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    first: u64,
    end: u64,
}

impl PageRange {
    /// `pages` pages from `first` on. Fails if the range is empty or too long.
    pub const fn new(first: VirtualPage, pages: u64) -> Result<Self, SpaceError> {
        match first.0.checked_add(pages) {
            Some(end) if pages > 0 && end <= SPACE_PAGES => Ok(Self { first: first.0, end }),
            _ => Err(SpaceError::BadRange),
        }
    }

    pub(crate) const ALL: Self = Self { first: 0, end: SPACE_PAGES };

    /// The user half of x86-64 with 4 levels of page tables, without its last page: a `syscall` at
    /// its end would return to an address that is not canonical, which some CPUs fault on in kernel
    /// mode.
    #[cfg(not(all(loom, test)))]
    pub const X86_64: Self = Self { first: 0, end: (1 << 35) - 1 };
    /// The user half of x86-64 with 5 levels of page tables (LA57), without its last page.
    #[cfg(not(all(loom, test)))]
    pub const X86_64_LA57: Self = Self { first: 0, end: (1 << 44) - 1 };
    /// The user half of RISC-V with 3 levels of page tables.
    #[cfg(not(all(loom, test)))]
    pub const SV39: Self = Self { first: 0, end: 1 << 26 };
    /// The user half of RISC-V with 4 levels of page tables.
    #[cfg(not(all(loom, test)))]
    pub const SV48: Self = Self { first: 0, end: 1 << 35 };

    /// All pages below `end`, which may be beyond those of all spaces.
    pub(crate) const fn below(end: u64) -> Self {
        Self { first: 0, end }
    }

    /// True if all pages of `other` are in this range.
    pub const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.end <= self.end
    }

    /// The first page.
    pub const fn first(self) -> VirtualPage {
        VirtualPage(self.first)
    }

    /// The first page's number.
    pub(crate) const fn begin(self) -> u64 {
        self.first
    }

    /// One past the last page's number.
    pub(crate) const fn end(self) -> u64 {
        self.end
    }

    /// Number of pages.
    pub const fn pages(self) -> u64 {
        self.end - self.first
    }

    /// The shortest range that covers both.
    pub(crate) const fn with(self, other: Self) -> Self {
        let first = if self.first < other.first { self.first } else { other.first };
        Self { first, end: if self.end > other.end { self.end } else { other.end } }
    }

    /// True if the ranges overlap.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.first < other.end && other.first < self.end
    }

    pub(crate) const fn of(page: VirtualPage) -> Self {
        Self { first: page.0, end: page.0 + 1 }
    }

    /// The aligned range of `pages` pages, a power of two, that contains a page.
    pub(crate) const fn large_with(page: VirtualPage, pages: u64) -> Self {
        let first = page.0 - page.0 % pages;
        Self { first, end: first + pages }
    }

    /// The part before a page. `None` if it is empty.
    pub(crate) const fn before(self, end: u64) -> Option<Self> {
        if end > self.first { Some(Self { first: self.first, end }) } else { None }
    }

    /// The part from a page on, which is in the range or behind it. `None` if it is empty.
    pub(crate) const fn behind(self, first: u64) -> Option<Self> {
        if first < self.end { Some(Self { first, end: self.end }) } else { None }
    }
}

/// Access rights: a set of reading, writing and executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rights(u8);

impl Rights {
    /// No access: every access faults.
    pub const NONE: Self = Self(0);
    /// Reading.
    pub const READ: Self = Self(1);
    /// Writing.
    pub const WRITE: Self = Self(2);
    /// Executing.
    pub const EXECUTE: Self = Self(4);

    /// The bits: 1 for reading, 2 for writing, 4 for executing.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From bits; ignores those above the third.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }

    /// True if all rights in `other` are in this set.
    pub const fn allows(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without the rights in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_pages_and_ends_within_the_space() {
        let range = PageRange::new(VirtualPage(5), 3).unwrap();
        assert_eq!((range.first(), range.pages(), range.end()), (VirtualPage(5), 3, 8));
        assert_eq!((range.before(5), range.before(6).map(PageRange::pages)), (None, Some(1)));
        assert!(PageRange::new(VirtualPage(SPACE_PAGES - 1), 1).is_ok());
        let meets = |first| range.meets(PageRange::new(VirtualPage(first), 2).unwrap());
        assert_eq!([3, 4, 7, 8].map(meets), [false, true, true, false]);
        for (first, pages) in [(5, 0), (SPACE_PAGES, 1), (SPACE_PAGES - 1, 2), (u64::MAX, 2)] {
            assert_eq!(PageRange::new(VirtualPage(first), pages), Err(SpaceError::BadRange));
        }
    }

    #[test]
    fn rights_are_a_set() {
        let both = Rights::READ | Rights::WRITE;
        assert!(both.allows(Rights::WRITE) && both.allows(Rights::NONE) && !both.allows(Rights::EXECUTE));
        assert_eq!(both.without(Rights::WRITE), Rights::READ);
        assert_eq!(Rights::from_bits(both.bits()), both);
    }
}
