//! Two lens runs compared: which data and code came, went or changed. Computed by `stats`, shown by `report`.

use crate::cell::Case;
use crate::record::RunId;
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
    /// Its name; data without a name is named by the code that moves it.
    pub name: String,
    /// What happened.
    pub change: Change,
    /// Transfers per operation in the first run.
    pub a: Spread,
    /// In the second.
    pub b: Spread,
    /// Names of the data that shared a line with it in the first run.
    pub beside_a: Vec<String>,
    /// In the second.
    pub beside_b: Vec<String>,
}

/// One cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellComparison {
    /// The case in the first run.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// All transfers per operation.
    pub transfers: (Spread, Spread),
    /// How they changed.
    pub transfers_change: Change,
    /// Instructions per operation.
    pub instructions: (Spread, Spread),
    /// Data whose transfers differ, the greatest difference first.
    pub data: Vec<Difference>,
    /// The same for code.
    pub code: Vec<Difference>,
}

/// A cell of which one run has no reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Number of CPUs.
    pub cpus: u32,
    /// The run that has no reading of it.
    pub missing_in: RunId,
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
    /// Cells for which both runs have readings.
    pub cells: Vec<CellComparison>,
    /// Cells for which one run has no reading.
    pub unmatched: Vec<Unmatched>,
}

impl LensComparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-comparison/1";
}
