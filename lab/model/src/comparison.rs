//! A comparison of two sides: an answer for each workload, what it is based on (values, looks, laws of scaling), and how else the sides differ (facts,
//! workloads that only one has). Computed by `stats`, shown by `report`.

use crate::advice::Advice;
use crate::direction::Direction;
use crate::estimate::Estimate;
use crate::facts::FactValue;
use crate::failure::Failure;
use crate::run_id::RunId;
use crate::said::Said;
use crate::scaling::ScalingComparison;
use crate::time::UnixMillis;
use crate::unmatched::Unmatched;
use crate::workload_comparison::{Bounded, WorkloadComparison};
use serde::{Deserialize, Serialize};

/// A comparison with its surroundings. `format` is [`Comparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// Name and version of this structure.
    pub format: String,
    /// The first side: what there was.
    pub a: Described,
    /// The second side: what is new.
    pub b: Described,
    /// Familywise confidence level over all workloads: 0…1.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Draws of the bootstrap, or more where a level asked for it.
    pub resamples: u32,
    /// The workloads, each with its answer and what stands behind that.
    pub workloads: Vec<ComparedWorkload>,
    /// Geometric mean of the improvements: above 1 the second side is better. None unless every workload has an estimate that holds.
    pub improvement: Option<Bounded>,
    /// Laws of scaling on both sides, of cases that were measured at enough numbers of tasks.
    pub scaling: Vec<ScaledCase>,
    /// Facts about the machine that differ.
    pub facts: Vec<FactDifference>,
    /// Figures that can't be tested, beside other figures of the same benchmark that can.
    pub untested: Vec<UntestedFigure>,
    /// How a live comparison came to its end; none where all was measured before.
    pub sequential: Option<Sequential>,
    /// What isn't compared, and why: it is on one side only, failed, or is of a block that a reboot split.
    pub unmatched: Vec<Said<Unmatched>>,
}

impl Comparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-comparison/3";
}

/// What one side is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Described {
    /// Its name: that of a setup, a run, a file or a commit.
    pub name: String,
    /// What it is measured with, one item each; empty when as the machine is.
    pub setup: Vec<String>,
    /// The run it was measured in.
    pub run: Option<RunId>,
    /// When that began.
    pub started: Option<UnixMillis>,
    /// Which machine and kernel, one line.
    pub machine: Option<String>,
}

/// One workload of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedWorkload {
    /// The answer.
    #[serde(flatten)]
    pub comparison: WorkloadComparison,
    /// What stands behind it.
    #[serde(flatten)]
    pub details: Details,
}

/// What stands behind a workload's comparison. Arrays hold the first side, then the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Details {
    /// Number of tasks, where it is known.
    pub tasks: Option<u32>,
    /// The independent values, in the order in which they were measured.
    pub values: [Vec<f64>; 2],
    /// The kernel's share of the tasks' own CPU time: 0…1.
    pub system_share: [Option<Estimate>; 2],
    /// Kernel counters that differ, the most telling first.
    pub counters: Vec<CounterDifference>,
    /// Further figures of the same runs, such as CPU time and memory. They are tested and corrected among themselves and change no answer.
    pub figures: Vec<WorkloadComparison>,
    /// What gave no value.
    pub failures: [Vec<Said<Failure>>; 2],
}

/// A kernel counter that differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CounterDifference {
    /// The counter's name: `vmstat.pgfault`.
    pub name: String,
    /// Median per operation on the first side.
    pub a: f64,
    /// Median per operation on the second.
    pub b: f64,
    /// Chance of a difference as great between equal sides, corrected for all counters.
    pub p_corrected: f64,
}

/// A figure that is shown and not tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct UntestedFigure {
    /// The benchmark's name, and what was measured: `sort user`.
    pub name: String,
    /// The name of a further figure of the workload `name`, such as `system_s`; none if `name` says it all.
    #[serde(default)]
    pub figure: Option<String>,
    /// Why it isn't tested.
    #[serde(default)]
    pub reason: UntestedReason,
    /// Number of tasks, where it is known.
    pub tasks: Option<u32>,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is better.
    pub direction: Direction,
    /// Median on the first side.
    pub a: f64,
    /// Median on the second.
    pub b: f64,
}

/// Why a figure isn't tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum UntestedReason {
    /// A side has a single value.
    #[default]
    SingleValue,
    /// A value has no usable ratio, such as 0.
    NoRatio,
}

/// Both sides' laws of scaling for one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ScaledCase {
    /// The case's name, without its number of tasks.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The parameters beside each other.
    pub comparison: ScalingComparison,
}

/// A fact that differs, or that only one side has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FactDifference {
    /// The fact's dotted key.
    pub key: String,
    /// On the first side.
    pub a: Option<FactValue>,
    /// On the second.
    pub b: Option<FactValue>,
}

/// How a comparison that looks at its data as they come keeps its level (docs/METHODOLOGY.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sequential {
    /// Familywise confidence level over all workloads and all looks: 0…1.
    pub level: f64,
    /// The looks that were planned.
    pub looks: Vec<Look>,
    /// How many of them were taken; the answers are those of the last.
    pub taken: u32,
    /// Why it ended there.
    pub ended: Ended,
}

/// One look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Look {
    /// Blocks measured before it.
    pub blocks: u32,
    /// The part of the error that it may spend.
    pub alpha: f64,
}

/// Why a live comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Each workload that could be measured has its answer: a difference, or an interval that is narrow enough.
    Settled,
    /// The time budget was used up.
    Budget,
    /// All planned blocks were measured.
    Planned,
    /// It was stopped, or is still under way.
    Stopped,
}

/// Whether a machine is fit to measure on: the answer of a comparison with itself. `format` is [`Fitness::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitness {
    /// Name and version of this structure.
    pub format: String,
    /// The answer.
    pub fit: Fit,
    /// The machine against itself.
    pub compared: Comparison,
    /// What to turn off or watch for, the most important first.
    pub advice: Vec<Advice>,
}

impl Fitness {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-fitness/3";
}

/// Whether a machine is fit to measure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Small differences are seen, and none where there is none.
    Fit,
    /// Only great differences are seen.
    Coarse,
    /// It differs from itself, or next to nothing can be seen.
    Unfit,
}
