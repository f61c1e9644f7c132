//! Transfers by type as they are shown: types, and for each its layout, line by line, with the figures of its members. Computed by
//! `stats`, shown by `report`.

use crate::cell::Case;
use crate::lens::by_type::{Begins, Untypeable};
use crate::lens::layout::{Bits, Keyword};
use crate::lens::place::Place;
use crate::lens::untyped::Untyped;
use crate::record::RunId;
use serde::{Deserialize, Serialize};

/// Figures of transfers, per operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Moved {
    /// Transfers: `reads` and `writes` together.
    pub transfers: f64,
    /// Transfers because of a read.
    pub reads: f64,
    /// Transfers because of a write.
    pub writes: f64,
    /// Share of the transfers that is false sharing: 0…1; 0 without transfers.
    pub false_share: f64,
}

/// What a row of a layout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A member, with all that is in it.
    Member,
    /// A structure, union or array whose members follow. Its own figures are those of accesses to no member.
    Outer,
    /// Bytes between members that nothing uses.
    Hole,
    /// Bytes behind the last member.
    Padding,
    /// Bytes of objects that are larger than their type.
    Behind,
}

/// A row of a layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LayoutRow {
    /// What it is.
    pub kind: RowKind,
    /// In how many structures of the type it is.
    pub depth: u32,
    /// The member's name; `None` for structures and unions without a name, holes and padding.
    pub name: Option<String>,
    /// The member's name with those of the structures that it is in: `mmap_lock.count`.
    pub path: String,
    /// Its type as it is written; empty for holes and padding.
    pub of: String,
    /// How the structure or union is declared whose members follow; `None` for arrays and everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<Keyword>,
    /// Bytes from the beginning of the type.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Its bits, if it is a bit field.
    pub bits: Option<Bits>,
    /// It began on an earlier line, where its figures are.
    pub is_continued: bool,
    /// Transfers because it was accessed.
    pub moved: Moved,
    /// Transfers of its line, per operation, before which another CPU had used this member: written it; or read it, and the transfer was a write.
    pub used_by_others: f64,
    /// Code that accessed it, most transfers first; shares are of the member's own transfers.
    pub code: Vec<Place>,
}

/// A cache line of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LayoutLine {
    /// Its number in the type, from 0.
    pub number: u32,
    /// Its first byte, from the beginning of the type. Negative if objects begin within a line.
    pub from: i64,
    /// Its transfers.
    pub moved: Moved,
    /// How many members begin on it.
    pub members: u32,
    /// Its members, holes and padding in the order of their offsets.
    pub rows: Vec<LayoutRow>,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TypeFigures {
    /// How it is declared.
    pub keyword: Keyword,
    /// Its name.
    pub name: String,
    /// The name is written without the keyword: it is another name for the structure (`typedef`), or that of a type without members.
    pub is_alias: bool,
    /// Bytes.
    pub size: u64,
    /// Bytes in holes and padding, of the listed members.
    pub unused_bytes: u64,
    /// Transfers of all its objects.
    pub moved: Moved,
    /// Share of all transfers: 0…1.
    pub share: f64,
    /// Objects of which lines moved, by the place in a line at which they begin. Empty for a type that is found in others only.
    pub begins: Vec<Begins>,
    /// The members of other types that it was found in: `mm_struct.mmap_lock`. Empty for a type with objects of its own only.
    pub within: Vec<String>,
    /// Transfers, per operation, before which another CPU had used what lies beside the object on the same line.
    pub beside: f64,
    /// The member with the most transfers.
    pub hottest: Option<String>,
    /// How many cache lines it has. If objects begin at different places of a line, those of objects that begin where most do.
    pub line_count: u32,
    /// Its cache lines. A run's summary has only those with at least 0.1 % of all transfers.
    pub lines: Vec<LayoutLine>,
    /// Code that accessed it, most transfers first.
    pub code: Vec<Place>,
}

/// Data without a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct UntypedFigures {
    /// The data.
    pub what: Untypeable,
    /// Its transfers.
    pub moved: Moved,
    /// Share of all transfers: 0…1.
    pub share: f64,
}

/// All transfers of a reading by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TypesFigures {
    /// How many types there are.
    pub number: u64,
    /// Types, the most transfers first.
    pub types: Vec<TypeFigures>,
    /// Share of all transfers that has a type: 0…1.
    pub typed_share: f64,
    /// Everything else.
    pub untyped: Vec<UntypedFigures>,
}

/// The types of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellTypes {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// What one operation is, a noun.
    pub operation: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The seed with which the repeat that is shown repeats exactly.
    pub seed: Option<u64>,
    /// All transfers per operation.
    pub transfers: f64,
    /// Why what a kernel allocated has no types.
    pub untyped: Option<Untyped>,
    /// Figures by type; `None` if the run is of a version that did not count them.
    pub types: Option<TypesFigures>,
}

/// The types of a run. `format` is [`LensTypes::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LensTypes {
    /// Name and version of this structure.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The types that were asked for; none: all.
    pub asked: Vec<String>,
    /// Each case, at its greatest number of CPUs that has figures, or the one that was asked for.
    pub cells: Vec<CellTypes>,
}

impl LensTypes {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-types/1";
}
