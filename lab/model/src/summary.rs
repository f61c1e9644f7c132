//! What is shown of a run: estimates with intervals, points, curves, and words. Computed by `stats`, shown by `report`.

use crate::cell::{Case, Cell};
use crate::direction::Direction;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::lens::summary::LensSummary;
use crate::record::{RunId, RunState};
use crate::said::Said;
use crate::time::UnixMillis;
use crate::verdict::CurveVerdict;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the machine's CPU time went during the region of interest, as shares of all its CPUs' time; together 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TimeShares {
    /// User mode.
    pub user: f64,
    /// Kernel, interrupts included.
    pub system: f64,
    /// Idle, waiting for I/O included.
    pub idle: f64,
    /// Taken away by a hypervisor.
    pub steal: f64,
}

/// A figure beside the main one: `user_s`, `processes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SideFigure {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better; none where neither is.
    pub direction: Option<Direction>,
    /// Its estimate.
    pub estimate: Estimate,
}

/// One cell's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Point {
    /// Number of tasks.
    pub tasks: u32,
    /// The rate (or time), in the curve's unit. `None` if no attempt succeeded.
    pub value: Option<Estimate>,
    /// Value against that of the curve's base, the better the higher; 1 at the base.
    pub speedup: Option<Estimate>,
    /// Speed-up per task, against the base; 1 is ideal.
    pub efficiency: Option<Estimate>,
    /// Kernel's share of the tasks' own CPU time: 0…1.
    pub system_share: Option<Estimate>,
    /// Where the machine's time went.
    pub shares: Option<TimeShares>,
    /// One value per repeat, in the order of their blocks.
    pub repeats: Vec<f64>,
    /// Intervals that the repeats are made of.
    pub intervals: u32,
    /// Side figures: measures, bytes per second, faults and context switches per operation.
    pub side: Vec<SideFigure>,
    /// Kernel counters per operation, medians over the repeats; by size.
    pub counters: Vec<(String, f64)>,
    /// Attempts that gave no figure, by block.
    pub failures: Vec<Said<Failure>>,
}

/// A case over numbers of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Curve {
    /// Workload, variant, mode.
    #[serde(flatten)]
    pub case: Case,
    /// What one operation is, a noun.
    pub operation: String,
    /// What it does, one line.
    pub text: String,
    /// Unit of the points' values.
    pub unit: String,
    /// Which direction is better.
    pub direction: Direction,
    /// Tasks at the point that speed-up is reckoned from.
    pub base_tasks: Option<u32>,
    /// By number of tasks, ascending.
    pub points: Vec<Point>,
    /// Does it scale, at the greatest number of tasks that has CPUs of its own?
    #[serde(flatten)]
    pub verdict: CurveVerdict,
    /// What the workload noted: compiler, pages per fault. From its last attempt that succeeded.
    pub notes: BTreeMap<String, String>,
}

impl Curve {
    /// The point at a number of tasks.
    pub fn point(&self, tasks: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.tasks == tasks)
    }
}

/// How much of the plan is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Progress {
    /// Items of the plan.
    pub planned: u32,
    /// Items that succeeded.
    pub done: u32,
    /// Items that failed in some way.
    pub failed: u32,
    /// Items that this machine can't do.
    pub unsupported: u32,
    /// Items left out because the time budget was used up.
    pub skipped: u32,
}

/// A run, summed up. `format` is [`RunSummary::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunSummary {
    /// Name and version of this structure, for readers of JSON.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// Its label, where it has one.
    pub label: Option<String>,
    /// When it began.
    pub started: UnixMillis,
    /// Running, finished, stopped.
    pub state: RunState,
    /// One line: which machine and kernel.
    pub machine: String,
    /// How much of the plan is there.
    pub progress: Progress,
    /// Curves, in the order of the suite.
    pub curves: Vec<Curve>,
    /// What may make these figures lie.
    pub warnings: Vec<Said<Warning>>,
    /// Figures of a run under the lens, which has no curves of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub lens: Option<LensSummary>,
}

impl RunSummary {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-run-summary/3";

    /// The point of a cell.
    pub fn point(&self, cell: &Cell) -> Option<&Point> {
        self.curves.iter().find(|curve| curve.case == cell.case)?.point(cell.tasks)
    }
}
