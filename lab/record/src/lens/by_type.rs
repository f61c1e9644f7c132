//! A reading's transfers by type: for each type its layout, and the members that were accessed when
//! lines moved. All moved lines count, not only the listed ones.

use crate::lens::layout::Layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of saved instructions per access.
pub const SITES_KEPT_OF_ACCESS: usize = 8;

/// Transfers by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteTransfers {
    /// The instruction.
    pub address: u64,
    /// Transfers.
    pub transfers: u64,
}

/// Transfers, by sharing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sharing {
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
}

impl Sharing {
    /// All transfers.
    pub fn total(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }

    /// Adds the transfers of `other`.
    pub fn add(&mut self, other: Sharing) {
        self.true_sharing = self.true_sharing.saturating_add(other.true_sharing);
        self.false_sharing = self.false_sharing.saturating_add(other.false_sharing);
    }
}

/// Bytes of a type that other CPUs had used before transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Offset of the first byte from the beginning of the type.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
    /// Number of transfers that followed an access of another CPU to these bytes.
    pub transfers: u64,
}

/// Accesses at one place of a type that made lines move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TypeAccess {
    /// Offset of the first byte from the beginning of the type.
    pub offset: u64,
    /// Number of accessed bytes.
    pub size: u64,
    /// Transfers by reads.
    pub reads: Sharing,
    /// Transfers by writes.
    pub writes: Sharing,
    /// Bytes of the object on the accessed line that other CPUs had used since: written, or also
    /// read if this access fetched the line for writing.
    pub others: Vec<Used>,
    /// Number of transfers that followed an access of another CPU to the bytes next to the object
    /// on the line, for the most used of these bytes.
    pub beside: u64,
    /// Transfers by instruction, most first.
    pub by_site: Vec<SiteTransfers>,
}

/// Objects that begin at one offset in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Begins {
    /// Offset of their first byte in the line.
    pub at: u64,
    /// Number of objects.
    pub objects: u64,
}

/// Transfers of all objects of a type. Members of another object count as part of that object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TypeReading {
    /// The type's layout.
    pub layout: Layout,
    /// Number of objects whose lines moved, by offset of their beginning in a line.
    pub begins: Vec<Begins>,
    /// Accesses, by offset and size.
    pub accesses: Vec<TypeAccess>,
}

/// Data without a type, or with an unknown type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Untypeable {
    /// Variables that have no structure or an unknown type.
    Variables,
    /// Per-CPU variables that have no structure or an unknown type.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByType {
    /// Types, most transfers first.
    pub types: Vec<TypeReading>,
    /// All other data, most transfers first.
    pub untyped: Vec<UntypedTransfers>,
}

/// Reason why allocated structures have no names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Untyped {
    /// The guest's memory was not read at the end of the counted part.
    NotRead,
    /// The kernel's image is not in memory where its symbols say.
    KernelNotFound,
    /// The kernel has no BTF.
    NoTypes,
    /// The kernel's BTF cannot be read.
    BadTypes {
        /// The problem, in words.
        problem: String,
    },
    /// The kernel's records of pages have an unknown layout.
    OtherLayout,
}
