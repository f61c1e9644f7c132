//! Summary of a lens run: figures per operation by number of CPUs, verdicts, and top lines and
//! code. Computed by `stats`, shown by `report`.

use crate::estimate::Estimate;
use crate::lens::code_site::CodeSite;
use crate::lens::types::TypesFigures;
use crate::said::Said;
use faultline_lens_format::ByDistance;
use faultline_record::cell::Case;
use faultline_record::failure::Failure;
use faultline_record::lens::by_object::Owner;
use faultline_record::lens::by_type::Untyped;
use faultline_record::lens::callers::CallersFigures;
use faultline_record::lens::problem::Problem;
use faultline_record::lens::reading::CpuTransfers;
use faultline_record::lens::settings::LensSettings;
use faultline_record::outcome::Outcome;
use faultline_record::subject::SubjectKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data within a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// First byte in the line.
    pub offset: u64,
    /// Share of the line's transfers that began there: 0…1.
    pub share: f64,
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LineFigures {
    /// Name of the data where most transfers began.
    pub name: String,
    /// Its address, as hexadecimal text: `0xffffffff82a01240`.
    pub address: String,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of all transfers: 0…1.
    pub share: f64,
    /// Share of its own transfers due to false sharing: 0…1.
    pub false_share: f64,
    /// Share of its own transfers due to reads: 0…1; the others are due to writes. `None` if the
    /// reading was saved without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_share: Option<f64>,
    /// Data of the line at which accesses began that moved it, most transfers first.
    pub held: Vec<Held>,
    /// Transfers to each CPU.
    pub by_cpu: Vec<CpuTransfers>,
    /// Code that moves it, most transfers first; shares are of the line's own transfers.
    pub code: Vec<CodeSite>,
}

/// The position of a CPU's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CpuClock {
    /// The CPU.
    pub cpu: u32,
    /// Its virtual clock, in units of one instruction's time; 0 if it was never busy.
    pub clock: u64,
}

/// Counts of an attempt until it was cut short. Transfers, also of lines and code, are counts and
/// not per operation, because the number of operations is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CutShort {
    /// Outcome of the attempt.
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
    pub code: Vec<CodeSite>,
}

/// Figures of interrupts (devices, timer, other CPUs) in a cell, from entry to return: per
/// operation, separate from its other figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct InterruptFigures {
    /// Transfers.
    pub transfers: Estimate,
    /// Instructions.
    pub instructions: Estimate,
    /// Top lines of the typical repeat.
    pub lines: Vec<LineFigures>,
    /// Its top code.
    pub code: Vec<CodeSite>,
}

/// Figures of all processes that ran one program, without interrupts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ProcessFigures {
    /// Name of the program's file, without directories; empty if it is not known.
    pub name: String,
    /// Number of processes that ran it.
    pub processes: u64,
    /// All other figures include these processes.
    pub is_counted: bool,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of the transfers of all processes: 0…1.
    pub share: f64,
    /// Share of its own transfers due to false sharing: 0…1.
    pub false_share: f64,
    /// Instructions per operation.
    pub instructions: f64,
}

/// Figures of an object, or of memory that one function moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ObjectFigures {
    /// The object.
    pub owner: Owner,
    /// Number of its lines that moved.
    pub lines: u64,
    /// Number of CPUs to which they moved.
    pub cpus: u64,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of all transfers: 0…1.
    pub share: f64,
    /// Share of its transfers due to reads: 0…1.
    pub read_share: f64,
    /// Share of its own transfers due to false sharing: 0…1.
    pub false_share: f64,
    /// Code that moves it, most transfers first; shares are of its own transfers.
    pub code: Vec<CodeSite>,
}

/// One cell's figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LensPoint {
    /// Number of CPUs, and of tasks.
    pub cpus: u32,
    /// Transfers per operation. `None` if no attempt gave a reading.
    pub transfers: Option<Estimate>,
    /// Share of the transfers due to false sharing: 0…1.
    pub false_share: Option<f64>,
    /// Instructions per operation.
    pub instructions: Option<Estimate>,
    /// Lines fetched from memory per operation, because a cache had evicted them. These are not
    /// transfers.
    pub capacity_misses: Option<Estimate>,
    /// Figures of interrupts, excluded from the others. `None` if the others include them.
    pub interrupts: Option<InterruptFigures>,
    /// Page faults per operation, if noted by the workload.
    pub faults: Option<f64>,
    /// Share of the busy time in which at least two CPUs were busy: 0…1. `None` if it was not
    /// counted.
    pub overlap: Option<f64>,
    /// Predicted operations per second of all CPUs together. `None` without a figure, or if it is
    /// withheld.
    pub rate: Option<Estimate>,
    /// The rate by the quartiles of the calibrated times. `None` without a rate, or if the
    /// precision of its times is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_range: Option<Span>,
    /// Predicted rate relative to that at the curve's smallest number of CPUs.
    pub speedup: Option<f64>,
    /// The speed-up by the ranges of both rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup_range: Option<Span>,
    /// Reason why counts exist but no prediction; `None` if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Said<Withheld>>,
    /// Transfers per operation of each repeat, in block order.
    pub repeats: Vec<f64>,
    /// Seed with which each repeat is reproducible; `None` for a repeat that may differ from run to
    /// run.
    pub seeds: Vec<Option<u64>>,
    /// Operations of the typical repeat: the one with the median of transfers. Its lines and code
    /// follow.
    pub operations: Option<u64>,
    /// Its transfers by distance.
    pub by_distance: Option<ByDistance>,
    /// Its figures by the program that processes ran, most transfers first; empty for a kernel, and
    /// if only one program ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFigures>,
    /// Number of lines that moved in it.
    pub lines_moved: u64,
    /// Its top objects, of all lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectFigures>,
    /// Its top lines.
    pub lines: Vec<LineFigures>,
    /// Its top code.
    pub code: Vec<CodeSite>,
    /// Its transfers by type, of all lines, at the largest number of CPUs with a figure. `None` at
    /// the others.
    pub types: Option<TypesFigures>,
    /// Callers of its sampled transfers, at the largest number of CPUs that has them. `None` at the
    /// others.
    pub callers: Option<CallersFigures>,
    /// Reasons why counts are incomplete, each once.
    pub problems: Vec<Said<Problem>>,
    /// Reason why the kernel's allocations have no names in the lines above; `None` if they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untyped: Option<Untyped>,
    /// Attempts that failed or gave no reading, by block.
    pub failures: Vec<Said<Failure>>,
    /// Counts of attempts that were cut short, if any.
    pub cut_short: Vec<CutShort>,
}

/// Lower and upper end of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Span {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Reason why a rate is not predicted. Shares are of the total time of all tasks' CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Withheld {
    /// Much of the time went into transfers or wake-ups, but the run did not model how long CPUs
    /// hold lines, or the cost of a wake-up.
    NotModelled {
        /// Share of that time.
        share: f64,
    },
    /// The delays were modelled, but much of the time depends on delays that were not measured on
    /// this machine.
    NotMeasured {
        /// Share of that time.
        share: f64,
    },
    /// Threads waited in loops that pause. How often a waiting CPU checks, and which one goes on
    /// first, is not modelled.
    Spinning {
        /// Share of that time.
        share: f64,
    },
    /// The CPUs executed instructions that one CPU does not: retries, or waiting loops without a
    /// pause. Their number depends on unmodelled timing.
    Retries {
        /// Share of these instructions in all, less the share of time in which CPUs slept.
        share: f64,
    },
    /// More CPUs than were calibrated waited for lines that other CPUs used.
    Queues {
        /// Share of the time in which they waited.
        share: f64,
    },
    /// Lines moved over a distance that was not calibrated.
    OtherDistance {
        /// Share of the time of these transfers.
        share: f64,
    },
    /// CPUs rarely worked at the same time, though they did not sleep: there were too few
    /// operations.
    LittleOverlap {
        /// Share of the busy time in which at least two CPUs were busy.
        share: f64,
    },
    /// Wake-ups or interrupts took much of the time, but were so rare that one more would change
    /// the rate considerably.
    FewDelays {
        /// Change of the rate if they were one standard deviation more.
        share: f64,
    },
}

/// Law by which transfers grow with CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// About the same increase with each doubling.
    Logarithmic,
    /// About the same increase with each CPU.
    Linear,
    /// Another law.
    Other,
    /// Unknown: too few numbers of CPUs.
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

/// From the smallest to the largest number of CPUs ≥ 2 with a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Reach {
    /// The smallest number.
    pub from_cpus: u32,
    /// Transfers per operation there.
    pub from: f64,
    /// The largest number.
    pub to_cpus: u32,
    /// Transfers per operation there.
    pub to: f64,
    /// Transfers added by each doubling between the two.
    pub per_doubling: f64,
}

/// The limit that the busiest line sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LineLimit {
    /// Transfers of the top line per operation, at the largest number of CPUs.
    pub transfers: f64,
    /// The greatest rate that its transfers allow by their costs, in multiples of one CPU's.
    pub cpus: f64,
}

/// Change of transfers per operation as CPUs are added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LensVerdict {
    /// No more than on one CPU.
    Free {
        /// The numbers of CPUs.
        reach: Reach,
    },
    /// More than on one CPU, but no more on many CPUs than on two: each operation has a fixed
    /// price.
    Flat {
        /// The numbers of CPUs.
        reach: Reach,
    },
    /// More than on one CPU, and not growing, but the transfers of one line take so long that the
    /// largest number of CPUs cannot all work.
    Contended {
        /// The numbers of CPUs.
        reach: Reach,
        /// The limit by that line.
        limit: LineLimit,
    },
    /// More than on one CPU. Only one number of CPUs ≥ 2 has a figure.
    Costs {
        /// That number twice.
        reach: Reach,
    },
    /// Growing.
    Grows {
        /// The numbers of CPUs.
        reach: Reach,
        /// The law of growth.
        growth: Growth,
    },
    /// Falling.
    Falls {
        /// The numbers of CPUs.
        reach: Reach,
    },
    /// Both ends are equal, and the points between differ.
    Uneven {
        /// The numbers of CPUs.
        reach: Reach,
    },
    /// No number of CPUs ≥ 2 has a figure.
    TooFewPoints,
}

impl LensVerdict {
    /// The verdict in one or two words.
    pub fn words(&self) -> &'static str {
        match self {
            LensVerdict::Free { .. } => "free",
            LensVerdict::Flat { .. } => "fixed price",
            LensVerdict::Contended { .. } => "contended",
            LensVerdict::Costs { .. } => "costs",
            LensVerdict::Grows { .. } => "grows",
            LensVerdict::Falls { .. } => "falls",
            LensVerdict::Uneven { .. } => "uneven",
            LensVerdict::TooFewPoints => "too few points",
        }
    }

    /// The numbers of CPUs that it is based on.
    pub fn reach(&self) -> Option<&Reach> {
        match self {
            LensVerdict::Free { reach }
            | LensVerdict::Flat { reach }
            | LensVerdict::Contended { reach, .. }
            | LensVerdict::Costs { reach }
            | LensVerdict::Grows { reach, .. }
            | LensVerdict::Falls { reach }
            | LensVerdict::Uneven { reach } => Some(reach),
            LensVerdict::TooFewPoints => None,
        }
    }
}

/// Predicted loss compared with the possible rate of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Almost nothing.
    Little,
    /// A part, up to half.
    Part,
    /// More than half.
    Most,
}

/// The largest number of CPUs with a figure, compared with one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct AgainstOne {
    /// Transfers per operation on one CPU.
    pub one: f64,
    /// The number of CPUs.
    pub cpus: u32,
    /// Predicted rate on all of them, divided by the rate on one.
    pub speedup: f64,
    /// Lost share of the ideal rate, which is that of one CPU times their number. Negative if the
    /// rate is higher.
    pub lost: f64,
    /// Size of the loss.
    pub loss: Loss,
}

/// Points of a case over numbers of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LensCurve {
    /// Workload, variant, mode.
    #[serde(flatten)]
    pub case: Case,
    /// One operation, as a noun.
    pub operation: String,
    /// Description of the workload, one line; may be empty.
    pub text: String,
    /// By number of CPUs, ascending.
    pub points: Vec<LensPoint>,
    /// Change of transfers per operation as CPUs are added.
    pub verdict: LensVerdict,
    /// Loss of many CPUs compared with one; `None` without a figure of one CPU, or of more.
    pub against_one: Option<AgainstOne>,
}

/// The summary of a lens run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LensSummary {
    /// The measured subject.
    #[ts(type = "unknown")]
    pub subject: SubjectKind,
    /// The requested settings.
    #[ts(type = "unknown")]
    pub settings: LensSettings,
    /// The seeds of the plan, ascending; none for a program.
    pub seeds: Vec<u64>,
    /// Curves, in the order of the plan.
    pub curves: Vec<LensCurve>,
}
