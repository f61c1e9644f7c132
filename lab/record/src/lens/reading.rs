//! A report of the lens as it is saved: the top lines and sites, with names, and the number of
//! operations.

use crate::lens::by_object::ObjectReading;
use crate::lens::by_type::{ByType, SiteTransfers, Untyped};
use crate::lens::callers::Callers;
use crate::lens::data::{Code, Data};
use crate::lens::problem::Problem;
use faultline_lens_format::{CpuTotals, LensMode, ModelledMachine, RawProcesses, Scope, Space, Spent, Totals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Maximum number of saved lines: those with the most transfers. Totals count all lines.
pub const LINES_KEPT: usize = 200;

/// Maximum number of saved sites.
pub const SITES_KEPT: usize = 200;

/// Maximum number of saved sites of a line.
pub const SITES_KEPT_OF_LINE: usize = 16;

/// Transfers of a line to one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CpuTransfers {
    /// The CPU.
    pub cpu: u32,
    /// Number of transfers to that CPU.
    pub transfers: u64,
}

/// An instruction that made lines move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// The instruction.
    pub address: u64,
    /// All transfers caused by the instruction.
    pub transfers: u64,
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
}

/// A part of a line: the start of accesses that moved the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinePart {
    /// Offset from the line's first byte.
    pub offset: u64,
    /// Number of accessed bytes.
    pub size: u64,
    /// Transfers.
    pub transfers: u64,
    /// The data at that place.
    pub data: Data,
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Address of the line's first byte.
    pub address: u64,
    /// The address space.
    pub space: Space,
    /// The data at which most transfers of the line began.
    pub data: Data,
    /// All transfers of the line.
    pub transfers: u64,
    /// Transfers by true sharing.
    pub true_sharing: u64,
    /// Transfers by false sharing.
    pub false_sharing: u64,
    /// Transfers by reads; the others are by writes. `None` in readings that were saved without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Transfers by CPU; CPUs that never fetched the line are left out.
    pub by_cpu: Vec<CpuTransfers>,
    /// Transfers by instruction, most first.
    pub by_site: Vec<SiteTransfers>,
    /// Transfers by byte, most first.
    pub parts: Vec<LinePart>,
}

/// Counts of interrupts, with names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptReading {
    /// Totals.
    pub totals: Totals,
    /// Number of lines that moved.
    pub lines_moved: u64,
    /// The first [`LINES_KEPT`] lines that moved.
    pub lines: Vec<Line>,
    /// Number of instructions that made lines move.
    pub sites_moving: u64,
    /// The first [`SITES_KEPT`] instructions that made lines move.
    pub sites: Vec<Site>,
}

/// Time in which CPUs were busy at once during the region, in clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overlap {
    /// Clocks in which at least one CPU was busy.
    pub busy_time: u64,
    /// Clocks in which at least two CPUs were busy.
    pub overlapping_time: u64,
}

/// A report with names. Its counts are those of the operation, without `interrupt`; of all code if
/// that is `None`. `format` is [`Reading::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Name and version of this structure.
    pub format: String,
    /// Number of operations in the counted part, from the workload's own output; 1 if the whole is
    /// one operation.
    pub operations: NonZeroU64,
    /// True if the attempt did not succeed. The counts go up to its end, and `operations` is 1,
    /// because their number is not known.
    pub is_partial: bool,
    /// The seed with which the count is reproducible exactly, on any host; `None` if it may differ
    /// from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Instruction set.
    pub target: String,
    /// Kind of the counted code: a program or a kernel.
    pub mode: LensMode,
    /// The counted part of the run.
    pub scope: Scope,
    /// The modelled machine.
    pub machine: ModelledMachine,
    /// Number of regions between marks that were counted.
    pub regions: u64,
    /// Number of processes that the program forked.
    pub forks: u64,
    /// Reasons why the counts are incomplete.
    pub problems: Vec<Problem>,
    /// Reason why a kernel's allocated structures have no names; `None` if they have names, and for
    /// programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untyped: Option<Untyped>,
    /// Predicted time of the counted part, in nanoseconds.
    pub predicted_ns: f64,
    /// Totals.
    pub totals: Totals,
    /// Totals by CPU.
    pub cpus: Vec<CpuTotals>,
    /// Counts by the program that processes ran, most transfers first; empty for kernels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<RawProcesses>,
    /// Number of lines that moved.
    pub lines_moved: u64,
    /// The first [`LINES_KEPT`] lines that moved.
    pub lines: Vec<Line>,
    /// Number of instructions that made lines move.
    pub sites_moving: u64,
    /// The first [`SITES_KEPT`] instructions that made lines move.
    pub sites: Vec<Site>,
    /// Counts of interrupts; `None` in program mode, which does not separate them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<InterruptReading>,
    /// The transfers of all lines by type, without those of interrupts.
    pub by_type: ByType,
    /// These transfers by object, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_object: Vec<ObjectReading>,
    /// Callers of a sample of the transfers; `None` without a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<Callers>,
    /// Time in which CPUs were busy at once.
    pub overlap: Overlap,
    /// Uses of the CPUs' clocks.
    pub spent: Spent,
    /// Names of the reading's instructions, by address; unnamed ones are left out.
    pub code: BTreeMap<u64, Code>,
}

impl Reading {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-reading/1";

    /// `count` per operation.
    pub fn per_operation(&self, count: u64) -> f64 {
        count as f64 / self.operations.get() as f64
    }

    /// Predicted operations per second; `None` if no time passed.
    pub fn predicted_rate(&self) -> Option<f64> {
        (self.predicted_ns > 0.0).then(|| self.operations.get() as f64 * 1e9 / self.predicted_ns)
    }
}
