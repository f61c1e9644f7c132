//! Figures of a run: points with intervals, curves, and the progress of the plan.

use crate::estimate::Estimate;
use crate::said::Said;
use crate::verdict::CurveVerdict;
use faultline_record::cell::Case;
use faultline_record::direction::Direction;
use faultline_record::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Use of the machine's CPU time in the region of interest, as shares of the time of all CPUs;
/// their sum is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct TimeShares {
    /// User mode.
    pub user: f64,
    /// Kernel, including interrupts.
    pub system: f64,
    /// Idle, including waiting for I/O.
    pub idle: f64,
    /// Stolen by a hypervisor.
    pub steal: f64,
}

/// A figure beside the main one: `user_s`, `processes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct SideFigure {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Better direction; `None` if there is none.
    pub direction: Option<Direction>,
    /// Its estimate.
    pub estimate: Estimate,
}

/// One cell's figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Point {
    /// Number of tasks.
    pub tasks: u32,
    /// The rate (or time), in the curve's unit. `None` if no attempt succeeded.
    pub value: Option<Estimate>,
    /// Value relative to the curve's base, greater is better; 1 at the base.
    pub speedup: Option<Estimate>,
    /// Speed-up per task, relative to the base; 1 is ideal.
    pub efficiency: Option<Estimate>,
    /// The kernel's share of the tasks' own CPU time: 0…1.
    pub system_share: Option<Estimate>,
    /// Use of the machine's CPU time.
    pub shares: Option<TimeShares>,
    /// One value per repeat, in block order.
    pub repeats: Vec<f64>,
    /// Number of intervals in the repeats.
    pub intervals: u32,
    /// Side figures: measures, bytes per second, faults and context switches per operation.
    pub side: Vec<SideFigure>,
    /// Kernel counters per operation: medians over the repeats, the largest first.
    pub counters: Vec<(String, f64)>,
    /// Attempts without a figure, by block.
    pub failures: Vec<Said<Failure>>,
}

/// A case over numbers of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Curve {
    /// Workload, variant, mode.
    #[serde(flatten)]
    pub case: Case,
    /// One operation, as a noun: `fault`.
    pub operation: String,
    /// Description of the workload, one line.
    pub text: String,
    /// Unit of the points' values.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// Number of tasks of the point that speed-up refers to.
    pub base_tasks: Option<u32>,
    /// Points, by ascending number of tasks.
    pub points: Vec<Point>,
    /// Verdict at the largest number of tasks that have CPUs of their own.
    #[serde(flatten)]
    pub verdict: CurveVerdict,
    /// Notes of the workload, such as compiler or pages per fault, from its last successful
    /// attempt.
    pub notes: BTreeMap<String, String>,
}

impl Curve {
    /// The point at a number of tasks.
    pub fn point(&self, tasks: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.tasks == tasks)
    }
}

/// Progress of the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Progress {
    /// Items of the plan.
    pub planned: u32,
    /// Items that succeeded.
    pub done: u32,
    /// Items that failed.
    pub failed: u32,
    /// Items that this machine does not support.
    pub unsupported: u32,
    /// Items left out because the time budget was used up.
    pub skipped: u32,
}
