//! Transfers by type, for display: types, and the layout of each, line by line, with the figures of
//! its members. Computed by `stats`, shown by `report`.

use crate::lens::code_site::CodeSite;
use faultline_record::cell::Case;
use faultline_record::lens::by_type::{Begins, Untypeable, Untyped};
use faultline_record::lens::layout::{Bits, Keyword};
use faultline_record::record::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of transfers, per operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Moved {
    /// Transfers: `reads` and `writes` together.
    pub transfers: f64,
    /// Transfers caused by a read.
    pub reads: f64,
    /// Transfers caused by a write.
    pub writes: f64,
    /// Share of the transfers due to false sharing: 0…1; 0 without transfers.
    pub false_share: f64,
}

/// Kind of a layout row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A member, including everything nested in it.
    Member,
    /// A structure, union or array whose members follow. Its own figures are those of accesses to
    /// no member.
    Outer,
    /// Unused bytes between members.
    Hole,
    /// Bytes after the last member.
    Padding,
    /// Bytes after the type, in larger objects.
    Behind,
}

/// A row of a layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LayoutRow {
    /// Kind of the row.
    pub kind: RowKind,
    /// Nesting depth.
    pub depth: u32,
    /// The member's name; `None` for structures and unions without a name, holes and padding.
    pub name: Option<String>,
    /// Full path of the member, such as `mmap_lock.count`.
    pub path: String,
    /// Its type as in the declaration; empty for holes and padding.
    pub of: String,
    /// Keyword of the structure or union whose members follow; `None` for arrays and everything
    /// else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<Keyword>,
    /// Bytes from the beginning of the type.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its bits, if it is a bit field.
    pub bits: Option<Bits>,
    /// True if it began on an earlier line, which has its figures.
    pub is_continued: bool,
    /// Transfers caused by accesses to it.
    pub moved: Moved,
    /// Transfers of its line, per operation, preceded by another CPU's use of this member: a write,
    /// or a read if the transfer was a write.
    pub used_by_others: f64,
    /// Code that accessed it, most transfers first; shares are of the member's own transfers.
    pub code: Vec<CodeSite>,
}

/// A cache line of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LayoutLine {
    /// Its number in the type, from 0.
    pub number: u32,
    /// Its first byte, from the beginning of the type. Negative if objects begin within a line.
    pub from: i64,
    /// Its transfers.
    pub moved: Moved,
    /// Number of members that begin on it.
    pub members: u32,
    /// Its members, holes and padding, by offset.
    pub rows: Vec<LayoutRow>,
}

/// A member's place in a proposed layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ProposedMember {
    /// The member's name; `None` for an unnamed structure or union.
    pub name: Option<String>,
    /// Its type as in the declaration.
    pub of: String,
    /// Its bits, if it is a bit field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<Bits>,
    /// Its offset at present, in bytes.
    pub was: u64,
    /// Its proposed offset, in bytes.
    pub offset: u64,
    /// True if it is aligned with the beginning of a line.
    pub begins_line: bool,
}

/// A layout without the false sharing that was counted within a type's objects, and between them
/// and their neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ProposedLayout {
    /// Size in bytes, a multiple of a line.
    pub size: u64,
    /// All members, in the proposed order.
    pub members: Vec<ProposedMember>,
    /// Transfers of the type per operation that it saves: those by false sharing between members
    /// that it separates.
    pub saved: f64,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct TypeFigures {
    /// Keyword of its declaration.
    pub keyword: Keyword,
    /// Its name.
    pub name: String,
    /// True if the name is written without the keyword: a `typedef`, or a type without members.
    pub is_alias: bool,
    /// Size in bytes.
    pub size: u64,
    /// Bytes in holes and padding between the listed members.
    pub unused_bytes: u64,
    /// Transfers of all its objects.
    pub moved: Moved,
    /// Share of all transfers: 0…1.
    pub share: f64,
    /// Objects with lines that moved, by the position in a line at which they begin. Empty for a
    /// type with only embedded objects.
    pub begins: Vec<Begins>,
    /// Members of other types that contain it, such as `mm_struct.mmap_lock`. Empty for a type
    /// without embedded objects.
    pub within: Vec<String>,
    /// Transfers, per operation, preceded by another CPU's use of neighbouring data on the object's
    /// lines.
    pub beside: f64,
    /// The member with the most transfers.
    pub hottest: Option<String>,
    /// Number of its cache lines. If objects begin at different positions of a line, the most
    /// frequent position counts.
    pub line_count: u32,
    /// Its cache lines. A run's summary has only those with at least 0.1 % of all transfers.
    pub lines: Vec<LayoutLine>,
    /// Code that accessed it, most transfers first.
    pub code: Vec<CodeSite>,
    /// A layout with less false sharing, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed: Option<ProposedLayout>,
}

/// Data without a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct UntypedFigures {
    /// The data.
    pub what: Untypeable,
    /// Its transfers.
    pub moved: Moved,
    /// Share of all transfers: 0…1.
    pub share: f64,
}

/// All transfers of a reading by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct TypesFigures {
    /// Number of types.
    pub number: u64,
    /// Types, the most transfers first.
    pub types: Vec<TypeFigures>,
    /// Share of all transfers with a known type: 0…1.
    pub typed_share: f64,
    /// Everything else.
    pub untyped: Vec<UntypedFigures>,
}

/// The types of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct CellTypes {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// One operation, as a noun.
    pub operation: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Seed with which the displayed repeat is reproducible.
    pub seed: Option<u64>,
    /// All transfers per operation.
    pub transfers: f64,
    /// Reason why a kernel's allocations have no types.
    pub untyped: Option<Untyped>,
    /// Figures by type; `None` if the run comes from a version that did not count them.
    pub types: TypesFigures,
}

/// The types of a run. `format` is [`LensTypes::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct LensTypes {
    /// Name and version of this structure.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The requested types; all if empty.
    pub asked: Vec<String>,
    /// Each case, at the requested number of CPUs or its largest with figures.
    pub cells: Vec<CellTypes>,
}

impl LensTypes {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-types/1";
}
