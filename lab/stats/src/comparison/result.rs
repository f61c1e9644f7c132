//! Result of a comparison of two sides: an answer for each workload, its basis (values, looks,
//! scaling laws), and other differences of the sides (facts, workloads of one side only). Computed
//! by `stats`, shown by `report`.

use crate::advice::Advice;
use crate::estimate::Estimate;
use crate::machine::FactDifference;
use crate::said::Said;
use crate::scaling::ScalingComparison;
use crate::unmatched::Unmatched;
use crate::workload_comparison::{Bounded, WorkloadComparison};
use faultline_record::direction::Direction;
use faultline_record::failure::Failure;
use faultline_record::record::{Conclusion, RunId};
use faultline_record::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Comparison of two sides. `format` is [`Comparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Comparison {
    /// Name and version of this structure.
    pub format: String,
    /// The first side, the baseline.
    pub a: Described,
    /// The second side, the new one.
    pub b: Described,
    /// Familywise confidence level over all workloads: 0…1.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Number of bootstrap draws; larger if a level requires it.
    pub resamples: u32,
    /// The workloads, each with its answer and details.
    pub workloads: Vec<ComparedWorkload>,
    /// Geometric mean of the improvements: above 1 if the second side is better. `None` unless
    /// every workload has a usable estimate.
    pub improvement: Option<Bounded>,
    /// Scaling laws on both sides, for cases measured at enough numbers of tasks.
    pub scaling: Vec<ScaledCase>,
    /// Facts about the machine that differ.
    pub facts: Vec<FactDifference>,
    /// Figures that cannot be tested, of benchmarks that have other, tested figures.
    pub untested: Vec<UntestedFigure>,
    /// The looks and end of a live comparison; `None` if all was measured before.
    pub sequential: Option<Sequential>,
    /// Items that are not compared, with reasons: on one side only, failed, or in a block that a
    /// reboot split.
    pub unmatched: Vec<Said<Unmatched>>,
}

impl Conclusion for Comparison {
    const KIND: &'static str = "comparison";
}

impl Comparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-comparison/1";
}

/// Description of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Described {
    /// Name of the setup, run, file or commit.
    pub name: String,
    /// Setup commands and settings, one item each; empty for the unchanged machine.
    pub setup: Vec<String>,
    /// The run in which it was measured.
    pub run: Option<RunId>,
    /// Start of that run.
    pub started: Option<UnixMillis>,
    /// Machine and kernel, one line.
    pub machine: Option<String>,
}

/// One workload of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ComparedWorkload {
    /// The answer.
    #[serde(flatten)]
    pub comparison: WorkloadComparison,
    /// Details of the answer.
    #[serde(flatten)]
    pub details: Details,
}

/// Details of a workload's comparison. Arrays hold the first side, then the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Details {
    /// Number of tasks, if known.
    pub tasks: Option<u32>,
    /// The independent values, in the order of measurement.
    pub values: [Vec<f64>; 2],
    /// The kernel's share of the tasks' own CPU time: 0…1.
    pub system_share: [Option<Estimate>; 2],
    /// Kernel counters that differ, the most significant first.
    pub counters: Vec<CounterDifference>,
    /// Further figures of the same runs, such as CPU time and memory. They are tested and corrected
    /// as a separate suite and affect no answer.
    pub figures: Vec<WorkloadComparison>,
    /// CPU time of the same runs, if their time is inconclusive. The CPU times of all workloads are
    /// tested as a suite of their own, with the error rate of the comparison. They affect no
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub by_cpu_time: Option<Box<WorkloadComparison>>,
    /// Failures.
    pub failures: [Vec<Said<Failure>>; 2],
}

/// A kernel counter that differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CounterDifference {
    /// The counter's name, such as `vmstat.pgfault`.
    pub name: String,
    /// Median per operation on the first side.
    pub a: f64,
    /// Median per operation on the second.
    pub b: f64,
    /// p-value, corrected for all counters.
    pub p_corrected: f64,
}

/// A figure that is shown but not tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct UntestedFigure {
    /// Name of benchmark and measure, such as `sort user`.
    pub name: String,
    /// Name of a further figure of the workload `name`, such as `system_s`; `None` if `name` is
    /// complete.
    pub figure: Option<String>,
    /// The reason.
    pub reason: UntestedReason,
    /// Number of tasks, if known.
    pub tasks: Option<u32>,
    /// Unit of the values.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// Median on the first side.
    pub a: f64,
    /// Median on the second.
    pub b: f64,
}

/// Reason why a figure is not tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum UntestedReason {
    /// A side has a single value.
    #[default]
    SingleValue,
    /// A value has no usable ratio, for example 0.
    NoRatio,
}

/// Scaling laws of one case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ScaledCase {
    /// The case's name, without its number of tasks.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// The parameters of both sides.
    pub comparison: ScalingComparison,
}

/// Interim looks of a live comparison, which control its false-positive rate (docs/METHODOLOGY.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Sequential {
    /// Familywise confidence level over all workloads and all looks: 0…1.
    pub level: f64,
    /// The planned looks.
    pub looks: Vec<Look>,
    /// Number of looks taken; the answers are those of the last one.
    pub taken: u32,
    /// Reason why it ended.
    pub ended: Ended,
}

/// One look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Look {
    /// Number of blocks measured before it.
    pub blocks: u32,
    /// Level of its test: the probability of a wrong answer at this look alone.
    pub alpha: f64,
}

/// Reason why a live comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Each workload that could be measured has its answer: a difference, or an interval that is
    /// narrow enough.
    Settled,
    /// The time budget was used up.
    Budget,
    /// All planned blocks were measured.
    Planned,
    /// The run was stopped, or is still running.
    Stopped,
}

/// Fitness of a machine for measuring, from a comparison with itself. `format` is
/// [`Fitness::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Fitness {
    /// Name and version of this structure.
    pub format: String,
    /// The answer.
    pub fit: Fit,
    /// Comparison of the machine with itself.
    pub compared: Comparison,
    /// Advice: settings to turn off and disturbances to watch for, the most important first.
    pub advice: Vec<Advice>,
}

impl Conclusion for Fitness {
    const KIND: &'static str = "fitness";
}

impl Fitness {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-fitness/1";
}

/// Fitness of a machine for measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Small differences are detectable, and there are no false ones.
    Fit,
    /// Only large differences are detectable.
    Coarse,
    /// The machine differs from itself, or hardly any difference is detectable.
    Unfit,
}
