//! Two lens runs compared: which data and code came, went or changed. Computed by `stats`, shown by `report`.

use crate::cell::Case;
use crate::estimate::Estimate;
use crate::lens::key::Key;
use crate::run_id::RunId;
use crate::said::Said;
use serde::{Deserialize, Serialize};

/// A figure per operation on one side: the median and the range of the repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// Number of repeats.
    pub n: u32,
}

/// What happened to a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is new.
    Came,
    /// It disappeared.
    Went,
    /// It increased.
    More,
    /// It decreased.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// What it is.
    pub of: Said<Key>,
    /// What happened.
    pub change: Change,
    /// Transfers per operation in the first run.
    pub a: Spread,
    /// In the second.
    pub b: Spread,
    /// Their difference, as for all transfers of the cell.
    pub difference: f64,
    /// The data that shared a line with it in the first run.
    pub beside_a: Vec<Said<Key>>,
    /// In the second.
    pub beside_b: Vec<Said<Key>>,
}

/// A seed that both runs have, with the counts per operation that it repeats exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

/// Whether more or fewer transfers are to be expected with other seeds too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InGeneral {
    /// Not known: there is one seed.
    OneSeed {
        /// How many seeds a confidence interval needs.
        needed: u32,
    },
    /// Not known: there are too few seeds for a confidence interval.
    TooFewSeeds {
        /// Median and range of the seeds' differences.
        difference: Estimate,
        /// How many seeds one needs.
        needed: u32,
    },
    /// More: the whole interval is above 0, and its median above the tolerance.
    More {
        /// The difference.
        difference: Estimate,
    },
    /// Fewer, in the same sense.
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

/// What a cell's figures come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Basis {
    /// All repeats of both runs. They have no seed in common that repeats exactly.
    Repeats,
    /// The seeds that both runs have. Each difference is exact for its seed.
    Seeds {
        /// The seeds, ascending; at least one.
        pairs: Vec<SeedPair>,
        /// Repeats of the first and the second run that are left out, because the other has no such seed.
        left_out: (u32, u32),
        /// The answer about all transfers with other seeds.
        in_general: InGeneral,
    },
}

/// One cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellComparison {
    /// The case in the first run.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// What the figures come from.
    pub basis: Basis,
    /// All transfers per operation.
    pub transfers: (Spread, Spread),
    /// The second run's minus the first's. Of several seeds in common, the median of their differences; otherwise the difference of the medians.
    pub transfers_difference: f64,
    /// How they changed. With seeds in common it is the change for these seeds, and `basis` says what holds for others.
    pub transfers_change: Change,
    /// Instructions per operation.
    pub instructions: (Spread, Spread),
    /// Their difference, in the same sense.
    pub instructions_difference: f64,
    /// Data whose transfers differ, the greatest difference first.
    pub data: Vec<Difference>,
    /// The same for code.
    pub code: Vec<Difference>,
}

/// Why a cell is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum WhyUnmatched {
    /// A run has no reading of it.
    NoCounts {
        /// The run.
        missing_in: RunId,
    },
    /// An operation is not the same in both runs, so figures per operation are not either.
    OtherOperation {
        /// What it is in the first run.
        a: String,
        /// In the second.
        b: String,
    },
    /// One run tells the work of interrupts apart, and the other includes it in its figures.
    InterruptsApart {
        /// The run that tells it apart.
        only_in: RunId,
    },
}

/// A cell that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// Why not.
    #[serde(flatten)]
    pub why: WhyUnmatched,
}

/// What two runs may differ in besides what they count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surrounding {
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
    /// The number or size of operations.
    Operations,
}

/// Two runs compared. `format` is [`LensComparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LensComparison {
    /// Name and version of this structure.
    pub format: String,
    /// The first run.
    pub a: RunId,
    /// The second.
    pub b: RunId,
    /// What the runs differ in besides what they count: then the differences do not come from that alone.
    pub differing: Vec<Surrounding>,
    /// Both runs count the same program or kernel, with the same arguments.
    pub same_subject: bool,
    /// Cells for which both runs have readings.
    pub cells: Vec<CellComparison>,
    /// Cells that are not compared.
    pub unmatched: Vec<Unmatched>,
}

impl LensComparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-comparison/3";
}
