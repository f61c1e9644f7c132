//! Comparison of two lens runs: data and code with new, vanished or changed transfers. Computed by
//! `stats`, shown by `report`.

use crate::estimate::Estimate;
use crate::lens::key::Key;
use crate::said::Said;
use faultline_record::cell::Case;
use faultline_record::record::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure per operation on one side: the median and the range of the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Minimum.
    pub low: f64,
    /// Maximum.
    pub high: f64,
    /// Number of repeats.
    pub n: u32,
}

/// Kind of change of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// New: the first run has (almost) none.
    Came,
    /// Gone: the second run has (almost) none.
    Went,
    /// Increased.
    More,
    /// Decreased.
    Less,
    /// No difference beyond the tolerance.
    Same,
}

impl Change {
    /// The word used in files.
    pub fn word(self) -> &'static str {
        match self {
            Change::Came => "came",
            Change::Went => "went",
            Change::More => "more",
            Change::Less => "less",
            Change::Same => "same",
        }
    }
}

/// Data or code whose transfers per operation differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Difference {
    /// The data or code.
    pub of: Said<Key>,
    /// Kind of change.
    pub change: Change,
    /// Transfers per operation in the first run.
    pub a: Spread,
    /// Transfers per operation in the second run.
    pub b: Spread,
    /// Their difference, computed as [`CellComparison::transfers_difference`].
    pub difference: f64,
    /// Data that shared a line with it in the first run.
    pub beside_a: Vec<Said<Key>>,
    /// Data that shared a line with it in the second run.
    pub beside_b: Vec<Said<Key>>,
}

/// A seed common to both runs, with the counts per operation that it reproduces exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct SeedPair {
    /// The seed.
    pub seed: u64,
    /// All transfers in the first and in the second run.
    pub transfers: (f64, f64),
    /// Instructions.
    pub instructions: (f64, f64),
    /// Both readings are the same in every figure.
    pub identical: bool,
}

/// Expected change of the transfers with other seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InGeneral {
    /// Unknown: there is only one seed.
    OneSeed {
        /// Number of seeds needed for a confidence interval.
        needed: u32,
    },
    /// Unknown: too few seeds for a confidence interval.
    TooFewSeeds {
        /// Median and range of the seeds' differences.
        difference: Estimate,
        /// Number of seeds needed.
        needed: u32,
    },
    /// More: the whole interval is above 0, and its median above the tolerance.
    More {
        /// The difference.
        difference: Estimate,
    },
    /// Fewer: the whole interval is below 0, and its median below the negative tolerance.
    Less {
        /// The difference.
        difference: Estimate,
    },
    /// The whole interval is within the tolerance.
    Same {
        /// The difference.
        difference: Estimate,
    },
    /// None of these.
    Inconclusive {
        /// The difference.
        difference: Estimate,
    },
}

impl InGeneral {
    /// The word used in files.
    pub fn word(&self) -> &'static str {
        match self {
            InGeneral::OneSeed { .. } => "one-seed",
            InGeneral::TooFewSeeds { .. } => "too-few-seeds",
            InGeneral::More { .. } => "more",
            InGeneral::Less { .. } => "less",
            InGeneral::Same { .. } => "same",
            InGeneral::Inconclusive { .. } => "inconclusive",
        }
    }
}

/// Origin of a cell's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Basis {
    /// All repeats of both runs, which have no exactly repeating seed in common.
    Repeats,
    /// The seeds common to both runs. Each difference is exact for its seed.
    Seeds {
        /// The seeds, ascending; at least one.
        pairs: Vec<SeedPair>,
        /// Number of repeats of each run that are left out, because the other run lacks their seed.
        left_out: (u32, u32),
        /// Expected change of all transfers with other seeds.
        in_general: InGeneral,
    },
}

/// One cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CellComparison {
    /// The case in the first run.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// Origin of the figures.
    pub basis: Basis,
    /// All transfers per operation.
    pub transfers: (Spread, Spread),
    /// Transfers of the second run minus those of the first. With several common seeds, the median
    /// of their differences; otherwise the difference of the medians.
    pub transfers_difference: f64,
    /// Kind of change of the transfers. With common seeds it holds for these seeds; `basis` has the
    /// expected change with others.
    pub transfers_change: Change,
    /// Instructions per operation.
    pub instructions: (Spread, Spread),
    /// Their difference, computed likewise.
    pub instructions_difference: f64,
    /// Data whose transfers differ, the largest difference first.
    pub data: Vec<Difference>,
    /// Code whose transfers differ, the largest difference first.
    pub code: Vec<Difference>,
}

/// Reason why a cell is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum WhyUnmatched {
    /// A run has no reading of the cell.
    NoCounts {
        /// The run.
        missing_in: RunId,
    },
    /// The runs' operations differ, so figures per operation are not comparable.
    OtherOperation {
        /// The operation in the first run.
        a: String,
        /// The operation in the second run.
        b: String,
    },
    /// One run counts interrupts separately, the other includes them in its figures.
    InterruptsApart {
        /// The run that counts them separately.
        only_in: RunId,
    },
}

/// A cell that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct UnmatchedCell {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// The reason.
    #[serde(flatten)]
    pub why: WhyUnmatched,
}

/// A difference in the set-up of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentPart {
    /// The emulator's version.
    Emulator,
    /// The lens's plugin.
    Plugin,
    /// The modelled machine, except for its number of CPUs.
    Model,
    /// The guests' memory.
    Memory,
    /// The programs of the workloads.
    Workloads,
    /// The counted processes, or the counted region of a program.
    Part,
    /// Number or size of operations.
    Operations,
}

/// Two runs compared. `format` is [`LensComparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LensComparison {
    /// Name and version of this structure.
    pub format: String,
    /// The first run.
    pub a: RunId,
    /// The second.
    pub b: RunId,
    /// Differences in the runs' set-up, which may explain differences of the figures.
    pub differing: Vec<EnvironmentPart>,
    /// True if both runs count the same program or kernel, with the same arguments.
    pub same_subject: bool,
    /// Cells for which both runs have readings.
    pub cells: Vec<CellComparison>,
    /// Cells that are not compared.
    pub unmatched: Vec<UnmatchedCell>,
}

impl LensComparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-comparison/1";
}
