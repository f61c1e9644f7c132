//! What is shown of a lens run: figures per operation by number of CPUs, verdicts, and the top lines and code. Computed by `stats`, shown
//! by `report`.

use crate::cell::Case;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::lens::callers::CallersFigures;
use crate::lens::place::Place;
use crate::lens::problem::Problem;
use crate::lens::raw::{ByDistance, CpuTransfers};
use crate::lens::settings::LensSettings;
use crate::lens::types::TypesFigures;
use crate::lens::untyped::Untyped;
use crate::outcome::Outcome;
use crate::said::Said;
use crate::subject::SubjectKind;
use serde::{Deserialize, Serialize};

/// Data within a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Held {
    /// Its name.
    pub name: String,
    /// First byte in the line.
    pub offset: u64,
    /// Share of the line's transfers that began there: 0…1.
    pub share: f64,
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LineFigures {
    /// What it holds where most transfers began.
    pub name: String,
    /// Its address, as hexadecimal text: `0xffffffff82a01240`.
    pub address: String,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of all transfers: 0…1.
    pub share: f64,
    /// Share of its own transfers that is false sharing: 0…1.
    pub false_share: f64,
    /// All data of the line at which accesses began that moved it, most transfers first.
    pub held: Vec<Held>,
    /// Transfers to each CPU that fetched it.
    pub by_cpu: Vec<CpuTransfers>,
    /// Code that moves it, most transfers first; shares are of the line's own transfers.
    pub code: Vec<Place>,
}

/// The position of a CPU's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CpuClock {
    /// The CPU.
    pub cpu: u32,
    /// Its virtual clock, in units of one instruction's time; 0 if it was never busy.
    pub clock: u64,
}

/// What was counted in an attempt until it was cut short. Transfers here, also of lines and code, are counts and not per operation, because the number
/// of operations is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CutShort {
    /// How the attempt ended.
    pub ending: Outcome,
    /// Transfers until then.
    pub transfers: u64,
    /// Instructions until then.
    pub instructions: u64,
    /// Positions of the CPUs' clocks.
    pub clocks: Vec<CpuClock>,
    /// Top lines.
    pub lines: Vec<LineFigures>,
    /// Top code.
    pub code: Vec<Place>,
}

/// What interrupts did in a cell: devices', the timer's and other CPUs', from entry to return. Per operation, but apart from its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct InterruptFigures {
    /// Transfers.
    pub transfers: Estimate,
    /// Instructions.
    pub instructions: Estimate,
    /// Top lines of the typical repeat.
    pub lines: Vec<LineFigures>,
    /// Its top code.
    pub code: Vec<Place>,
}

/// One cell's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LensPoint {
    /// Number of CPUs, and of tasks.
    pub cpus: u32,
    /// Transfers per operation. `None` if no attempt gave a reading.
    pub transfers: Option<Estimate>,
    /// Share of the transfers that is false sharing: 0…1.
    pub false_share: Option<f64>,
    /// Instructions per operation.
    pub instructions: Option<Estimate>,
    /// Lines fetched from memory per operation, because a cache had given them up for lack of room. These are not transfers.
    pub capacity_misses: Option<Estimate>,
    /// What interrupts did; the other figures leave it out. `None` if interrupts were not told apart: then the other figures are of
    /// everything.
    pub interrupts: Option<InterruptFigures>,
    /// Page faults per operation, as the workload noted them; `None` if it does not.
    pub faults: Option<f64>,
    /// Share of the time in which at least two CPUs were busy, of that in which one was: 0…1. `None` if it was not counted.
    pub overlap: Option<f64>,
    /// Predicted operations per second, of all CPUs together. `None` without a figure, and if it is withheld.
    pub rate: Option<Estimate>,
    /// Predicted rate relative to that of the curve's smallest number of CPUs.
    pub speedup: Option<f64>,
    /// Why there is no prediction, though there are counts; `None` if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Said<Withheld>>,
    /// Transfers per operation of each repeat, in the order of their blocks.
    pub repeats: Vec<f64>,
    /// The seed with which each of them repeats exactly; `None` for a repeat that may differ from run to run.
    #[serde(default)]
    pub seeds: Vec<Option<u64>>,
    /// Operations of the repeat whose lines and code are below: the one with the median of transfers.
    pub operations: Option<u64>,
    /// Its transfers by distance.
    pub by_distance: Option<ByDistance>,
    /// How many lines moved in it.
    pub lines_moved: u64,
    /// Its top lines.
    pub lines: Vec<LineFigures>,
    /// Its top code.
    pub code: Vec<Place>,
    /// Its transfers by type, of all lines, at the greatest number of CPUs that has a figure. `None` at the others, and in runs of older versions.
    #[serde(default)]
    pub types: Option<TypesFigures>,
    /// The callers of a sample of its transfers, at the greatest number of CPUs that has them. `None` at the others, and in runs of older versions.
    #[serde(default)]
    pub callers: Option<CallersFigures>,
    /// Reasons why counts are less than was asked for, each once.
    pub problems: Vec<Said<Problem>>,
    /// Why what the kernel allocated has no names among the lines above; `None` if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untyped: Option<Untyped>,
    /// Attempts that did not succeed, or gave no reading, by block.
    pub failures: Vec<Said<Failure>>,
    /// Counts of attempts that were cut short, if there are any.
    #[serde(default)]
    pub cut_short: Vec<CutShort>,
}

/// Why a rate is not predicted. Shares are of the time that the CPUs of all tasks had.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Withheld {
    /// Much of the time went into transfers or waking up, and the run did not model how long CPUs keep lines, or what waking takes.
    NotModelled {
        /// How much.
        share: f64,
    },
    /// The run modelled it, but much of the time follows from times that were not measured on this machine.
    NotMeasured {
        /// How much.
        share: f64,
    },
    /// CPUs hardly worked at the same time, though they did not sleep: there were too few operations.
    LittleOverlap {
        /// Share of the busy time in which at least two CPUs were busy.
        share: f64,
    },
    /// Waking up or interrupts took much of the time, but happened so seldom that one more would change the rate much.
    FewDelays {
        /// By how much the rate would change if they were one standard deviation more.
        share: f64,
    },
    /// The reading is of an older version, which did not note what the time was spent on.
    NotNoted,
}

/// How transfers grow with CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By about the same amount with each doubling.
    Logarithmic,
    /// By about the same amount with each CPU.
    Linear,
    /// In another way.
    Other,
    /// Too few numbers of CPUs to say how.
    Unknown,
}

impl Growth {
    /// The growth as text.
    pub fn words(self) -> &'static str {
        match self {
            Growth::Logarithmic => "logarithmic",
            Growth::Linear => "linear",
            Growth::Other => "neither logarithmic nor linear",
            Growth::Unknown => "too few numbers of CPUs to say how",
        }
    }
}

/// From the smallest to the greatest number of CPUs ≥ 2 that has a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Reach {
    /// The smallest number.
    pub from_cpus: u32,
    /// Transfers per operation there.
    pub from: f64,
    /// The greatest number.
    pub to_cpus: u32,
    /// Transfers per operation there.
    pub to: f64,
    /// What each doubling adds, between the two.
    pub per_doubling: f64,
}

/// How transfers per operation change as CPUs are added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LensVerdict {
    /// There are no more than on one CPU.
    Free {
        /// Over which numbers.
        reach: Reach,
    },
    /// There are more than on one CPU, but no more on many CPUs than on two: each operation has a fixed price.
    Flat {
        /// Over which numbers.
        reach: Reach,
    },
    /// They grow.
    Grows {
        /// Over which numbers.
        reach: Reach,
        /// How.
        growth: Growth,
    },
    /// They decrease.
    Falls {
        /// Over which numbers.
        reach: Reach,
    },
    /// Both ends are alike, and the points between them differ.
    Uneven {
        /// Over which numbers.
        reach: Reach,
    },
    /// Fewer than two numbers of CPUs ≥ 2 have a figure.
    TooFewPoints,
}

impl LensVerdict {
    /// The verdict in a word or two.
    pub fn words(&self) -> &'static str {
        match self {
            LensVerdict::Free { .. } => "free",
            LensVerdict::Flat { .. } => "fixed price",
            LensVerdict::Grows { .. } => "grows",
            LensVerdict::Falls { .. } => "falls",
            LensVerdict::Uneven { .. } => "uneven",
            LensVerdict::TooFewPoints => "too few points",
        }
    }

    /// The numbers of CPUs that it rests on.
    pub fn reach(&self) -> Option<&Reach> {
        match self {
            LensVerdict::Free { reach }
            | LensVerdict::Flat { reach }
            | LensVerdict::Grows { reach, .. }
            | LensVerdict::Falls { reach }
            | LensVerdict::Uneven { reach } => Some(reach),
            LensVerdict::TooFewPoints => None,
        }
    }
}

/// How much of the rate that the CPUs could have is lost, as predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Next to nothing.
    Little,
    /// A part, up to half.
    Part,
    /// More than half.
    Most,
}

/// The greatest number of CPUs that has a figure, compared with one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct AgainstOne {
    /// Transfers per operation on one CPU.
    pub one: f64,
    /// The number of CPUs.
    pub cpus: u32,
    /// Predicted rate on that many, divided by the rate on one.
    pub speedup: f64,
    /// Share that is lost of the rate that so many CPUs would have if each did what one does alone. Negative if they do more.
    pub lost: f64,
    /// How much that is.
    pub loss: Loss,
}

/// A case over numbers of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LensCurve {
    /// Workload, variant, mode.
    #[serde(flatten)]
    pub case: Case,
    /// What one operation is, a noun.
    pub operation: String,
    /// What it does, one line; may be empty.
    pub text: String,
    /// By number of CPUs, ascending.
    pub points: Vec<LensPoint>,
    /// How transfers per operation change as CPUs are added.
    pub verdict: LensVerdict,
    /// What many CPUs lose compared with one; `None` without a figure of one CPU, or of more.
    pub against_one: Option<AgainstOne>,
}

/// The summary of a lens run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LensSummary {
    /// What ran.
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub subject: SubjectKind,
    /// What was asked for.
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub settings: LensSettings,
    /// The seeds of the plan, ascending; none for a program, and in runs of older versions.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Curves, in the order of the plan.
    pub curves: Vec<LensCurve>,
}
