//! A report of the lens as it is saved: the top lines and sites, with names, and the number of operations.

use crate::lens::by_type::ByType;
use crate::lens::callers::Callers;
use crate::lens::data::{Code, Data};
use crate::lens::problem::Problem;
use crate::lens::raw::{CpuTotals, CpuTransfers, LensMode, Machine, Scope, Site, SiteTransfers, Space, Spent, Totals};
use crate::lens::untyped::Untyped;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Most lines that are saved, those with the most transfers; the totals count all.
pub const LINES_KEPT: usize = 200;

/// Most sites that are saved.
pub const SITES_KEPT: usize = 200;

/// Most sites of a line that are saved.
pub const SITES_KEPT_OF_LINE: usize = 16;

/// A part of a line at which accesses began that moved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The byte, from the line's first.
    pub offset: u64,
    /// Bytes that were accessed.
    pub size: u64,
    /// Transfers.
    pub transfers: u64,
    /// What is there.
    pub data: Data,
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its first byte.
    pub address: u64,
    /// The address space.
    pub space: Space,
    /// What it holds where most transfers began.
    pub data: Data,
    /// All transfers of it.
    pub transfers: u64,
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
    /// By CPU; CPUs that never fetched it are left out.
    pub by_cpu: Vec<CpuTransfers>,
    /// By instruction, the most first.
    pub by_site: Vec<SiteTransfers>,
    /// By byte, the most first.
    pub parts: Vec<Part>,
}

/// The counts of interrupts, with names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptReading {
    /// Sums.
    pub totals: Totals,
    /// How many lines moved.
    pub lines_moved: u64,
    /// The first [`LINES_KEPT`] of them.
    pub lines: Vec<Line>,
    /// How many instructions made lines move.
    pub sites_moving: u64,
    /// The first [`SITES_KEPT`] of them.
    pub sites: Vec<Site>,
}

/// For how much of the region's time CPUs were busy at once, in clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    /// At least one CPU was busy.
    pub busy_time: u64,
    /// At least two were.
    pub overlapping_time: u64,
}

/// A report with names. Its counts are those of the operation, without `interrupt`; if that is `None`, they are of everything. `format` is [`Reading::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Name and version of this structure.
    pub format: String,
    /// Operations in the counted part, from the workload's own output; 1 if the whole is one operation.
    pub operations: NonZeroU64,
    /// The attempt did not succeed. The counts go up to its end, and `operations` is 1, because their number is not known.
    #[serde(default)]
    pub is_partial: bool,
    /// The seed with which the count repeats exactly, on any host. `None` if it may differ from run to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Instruction set.
    pub target: String,
    /// Program or kernel.
    pub mode: LensMode,
    /// What was counted.
    pub scope: Scope,
    /// The modelled machine.
    pub machine: Machine,
    /// Regions between marks that were counted.
    pub regions: u64,
    /// Processes that the program forked. Readings of older versions, made in QEMU's user mode, do not count them.
    pub forks: u64,
    /// Reasons why the counts are less than was asked for.
    pub problems: Vec<Problem>,
    /// Why a kernel's allocated structures have no names; `None` if they have, and for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untyped: Option<Untyped>,
    /// Predicted time of the counted part, in nanoseconds.
    pub predicted_ns: f64,
    /// Sums.
    pub totals: Totals,
    /// By CPU.
    pub cpus: Vec<CpuTotals>,
    /// How many lines moved.
    pub lines_moved: u64,
    /// The first [`LINES_KEPT`] of them.
    pub lines: Vec<Line>,
    /// How many instructions made lines move.
    pub sites_moving: u64,
    /// The first [`SITES_KEPT`] of them.
    pub sites: Vec<Site>,
    /// The same counts for interrupts; `None` if they were not told apart: in program mode, and in readings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<InterruptReading>,
    /// The transfers of all lines by type, without those of interrupts; `None` in readings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_type: Option<ByType>,
    /// The callers of a sample of the transfers; `None` if there was no sample, and in readings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callers: Option<Callers>,
    /// When CPUs were busy at once; `None` in readings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// What the CPUs' clocks were spent on; `None` in readings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// Names of the instructions above, by address; those without a name are left out.
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
