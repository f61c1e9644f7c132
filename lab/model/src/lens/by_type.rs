//! The transfers of a reading by type: for each type its layout, and which members were accessed when lines moved. All lines
//! that moved count, not only the listed ones.

use crate::lens::layout::Layout;
use crate::lens::raw::SiteTransfers;
use serde::{Deserialize, Serialize};

/// Most instructions that are saved of an access.
pub const SITES_KEPT_OF_ACCESS: usize = 8;

/// Transfers, by sharing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
}

impl Sharing {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }

    /// Adds others.
    pub fn add(&mut self, other: Sharing) {
        self.true_sharing = self.true_sharing.saturating_add(other.true_sharing);
        self.false_sharing = self.false_sharing.saturating_add(other.false_sharing);
    }
}

/// Bytes of a type that other CPUs had used before transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The first byte, from the beginning of the type.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Transfers before which another CPU had used them.
    pub transfers: u64,
}

/// Accesses at one place of a type that made lines move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeAccess {
    /// The first byte, from the beginning of the type.
    pub offset: u64,
    /// Bytes that were accessed.
    pub size: u64,
    /// Transfers by reads.
    pub reads: Sharing,
    /// Transfers by writes.
    pub writes: Sharing,
    /// What of the same object other CPUs had used since, on the same line: written; or read, if this access took the line to write.
    pub others: Vec<Used>,
    /// The same for what lies beside the object on the line: for the bytes there that others used most.
    pub beside: u64,
    /// By instruction, the most first.
    pub by_site: Vec<SiteTransfers>,
}

/// Objects that begin at the same place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Begins {
    /// The byte of a line at which they begin.
    pub at: u64,
    /// How many objects do.
    pub objects: u64,
}

/// The transfers of all objects of a type. Objects that are members of others count as those.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeReading {
    /// Its layout.
    pub layout: Layout,
    /// Objects of which lines moved, by the place in a line at which they begin.
    pub begins: Vec<Begins>,
    /// Accesses, by offset and size.
    pub accesses: Vec<TypeAccess>,
}

/// Data whose type is not known, or that has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Untypeable {
    /// Variables without a structure, or whose type is not known.
    Variables,
    /// CPUs' own variables, likewise.
    PerCpuVariables,
    /// Objects of a cache, such as `kmalloc-64`.
    Cache {
        /// The cache.
        name: String,
    },
    /// Contents of pages.
    PageContents,
    /// Page tables.
    PageTables,
    /// Pages that were free at the end.
    FreePages,
    /// Stacks of tasks.
    Stacks,
    /// Other memory of a kernel.
    KernelMemory,
    /// A program's heap.
    Heap,
    /// A program's stacks and mappings.
    Mapped,
    /// Unknown data.
    Unknown,
}

/// The transfers of data without a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntypedTransfers {
    /// The data.
    #[serde(flatten)]
    pub what: Untypeable,
    /// Transfers by reads.
    pub reads: Sharing,
    /// Transfers by writes.
    pub writes: Sharing,
}

/// All transfers of a reading, except those of interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByType {
    /// Types, the most transfers first.
    pub types: Vec<TypeReading>,
    /// Everything else, the most transfers first.
    pub untyped: Vec<UntypedTransfers>,
}
