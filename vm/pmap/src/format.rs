//! Description of a machine's page tables: levels, and the bits of entries.
//!
//! Levels are counted from the pages up: entries of level 0 are pages of 4 KiB, those of level 1
//! are of 2 MiB, and so on. Only a format knows bits; all other files see a [`Leaf`].

use core::fmt::Debug;
use faultline_memory::Rights;
use faultline_numbers::FrameNumber;

/// Entries of a table, as a power of two.
#[cfg(not(all(loom, test)))]
pub(crate) const BITS: u32 = 9;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
pub(crate) const BITS: u32 = 1;
/// Entries of a table.
pub const FAN_OUT: usize = 1 << BITS;
/// Levels of the highest tables.
pub(crate) const MOST_LEVELS: usize = 5;

/// Pages that an entry of a level translates.
pub const fn span(level: usize) -> u64 {
    1 << (BITS as usize * level)
}

/// Caching of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemoryType {
    /// Write-back: ordinary memory.
    #[default]
    WriteBack,
    /// Writes are combined and nothing is cached: frame buffers.
    WriteCombining,
    /// Uncached and in order: registers of devices.
    Device,
}

/// State of an entry, in two bits that the hardware ignores. They are never both 0, so an entry
/// without rights differs from no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing to note.
    Plain = 1,
    /// A table for its division is set aside.
    Backed = 2,
    /// A CPU is dividing it.
    Dividing = 3,
}

/// An entry that translates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// Its first frame.
    pub frame: FrameNumber,
    /// Rights that the hardware allows. Without any, the hardware does not see the entry.
    pub rights: Rights,
    /// True if a CPU used the entry.
    pub accessed: bool,
    /// True if a CPU wrote through the entry.
    pub dirty: bool,
    /// Caching.
    pub memory: MemoryType,
    /// True if programs may use it: otherwise the kernel alone.
    pub is_user: bool,
    /// True if it is equal in all spaces.
    pub is_global: bool,
    pub(crate) mark: Mark,
}

impl Leaf {
    /// A page of a program, not used yet.
    pub const fn user(frame: FrameNumber, rights: Rights, memory: MemoryType) -> Self {
        let (is_user, is_global, mark) = (true, false, Mark::Plain);
        Self { frame, rights, accessed: false, dirty: false, memory, is_user, is_global, mark }
    }

    /// Memory of the kernel, equal in all spaces. It counts as used and written, so no CPU sets
    /// bits in it.
    pub const fn kernel(frame: FrameNumber, rights: Rights, memory: MemoryType) -> Self {
        let (is_user, is_global, mark) = (false, true, Mark::Plain);
        Self { frame, rights, accessed: true, dirty: true, memory, is_user, is_global, mark }
    }

    /// The entry's frame for one of its pages.
    pub(crate) const fn at(self, level: usize, page: u64) -> FrameNumber {
        FrameNumber(self.frame.0.wrapping_add(page & (span(level) - 1)))
    }
}

/// A machine's page tables.
///
/// # Safety
/// 1. The hardware translates with `leaf` as `Leaf` says, and follows `table`. It ignores an entry
///    of 0, and a leaf without rights.
/// 2. `decoded` returns what `leaf` was given, except that writing or executing may include
///    reading, and bits that the hardware has set are set. `below` returns the frame of `table`.
///    Each entry other than 0 is one of these.
pub unsafe trait Format: Copy + Debug + Send + Sync + 'static {
    /// Levels of tables.
    const LEVELS: usize;

    /// Highest level whose entries may translate.
    const LARGEST: usize;

    /// True if a TLB may hold translations of several sizes for one page. Otherwise an entry is
    /// divided or merged only after CPUs have forgotten it (*break-before-make*), so programs have
    /// no large pages.
    const IN_PLACE: bool;

    /// True if an entry may point to another table while CPUs still have the one cached that was
    /// taken out. Otherwise the tables of programs stay until their space ends.
    const REPLACES_TABLES: bool;

    /// The entry of a table.
    fn table(table: FrameNumber) -> u64;

    /// The table of an entry, if it is one. Its level is above 0.
    fn below(level: usize, entry: u64) -> Option<FrameNumber>;

    /// An entry that translates.
    fn leaf(level: usize, leaf: Leaf) -> u64;

    /// The contents of an entry that translates.
    fn decoded(level: usize, entry: u64) -> Option<Leaf>;

    /// Makes entries that were written visible to this CPU's table walks.
    #[inline]
    fn publish() {}
}

/// Sets `bits` if `is_set`.
#[inline]
pub(crate) const fn when(is_set: bool, bits: u64) -> u64 {
    if is_set { bits } else { 0 }
}

/// A mark from its two bits.
#[inline]
pub(crate) const fn mark(bits: u64) -> Mark {
    match bits & 3 {
        2 => Mark::Backed,
        3 => Mark::Dividing,
        _ => Mark::Plain,
    }
}

/// A set of rights from its parts.
#[inline]
pub(crate) const fn rights(reads: bool, writes: bool, executes: bool) -> Rights {
    Rights::from_bits(reads as u8 | (writes as u8) << 1 | (executes as u8) << 2)
}
