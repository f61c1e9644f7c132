//! Two sides measured under the same names: what differs, how surely, and what could have been seen. Computed by `stats`, shown by `report`.

use crate::direction::Direction;
use serde::{Deserialize, Serialize};

/// A figure with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of such intervals that enclose the true figure: 0…1.
    pub level: f64,
}

/// What counts as one independent value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A boot: the median of its runs.
    Boot,
    /// A run: the median of its intervals.
    Run,
}

/// The test that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Wilcoxon's test of signed ranks, of the differences within blocks; interval of Tukey.
    SignedRanks,
    /// Wilcoxon, Mann and Whitney's test of ranks; interval of Hodges and Lehmann.
    Ranks,
    /// Welch's test on logarithms, for fewer units than ranks can decide with.
    Welch,
    /// Neither: there are too few units for any answer at this level.
    None,
}

/// The answer about one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The second side is better: a higher rate, or a lower time.
    Faster,
    /// The second side is worse.
    Slower,
    /// No difference was detected; [`WorkloadComparison::detectable`] says which could have been.
    NoDifference,
    /// The data can't tell, whatever they say: a warning says why.
    Undecided,
}

/// What one side consists of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Boots.
    pub boots: u32,
    /// Runs.
    pub runs: u32,
    /// Intervals.
    pub intervals: u32,
    /// Independent values.
    pub units: u32,
    /// Median of the units, in the figure's unit.
    pub median: f64,
    /// Mean of the runs: arithmetic for times, harmonic for rates.
    pub mean: f64,
}

/// What a comparison's warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CautionCode {
    /// Too few independent values, or no look was due yet.
    FewUnits,
    /// A side was seen in one boot only, or nobody knows in how many.
    OneBoot,
    /// One side was measured after the other.
    NotInterleaved,
    /// Values move in one direction over time.
    Drift,
    /// Values fall into two groups.
    Bimodal,
    /// The sides' machines differ.
    DifferentFacts,
}

impl CautionCode {
    /// Every code.
    pub const ALL: [CautionCode; 6] = [
        CautionCode::FewUnits,
        CautionCode::OneBoot,
        CautionCode::NotInterleaved,
        CautionCode::Drift,
        CautionCode::Bimodal,
        CautionCode::DifferentFacts,
    ];

    /// The code as it is written: `not-interleaved`.
    pub fn word(self) -> &'static str {
        match self {
            CautionCode::FewUnits => "few-units",
            CautionCode::OneBoot => "one-boot",
            CautionCode::NotInterleaved => "not-interleaved",
            CautionCode::Drift => "drift",
            CautionCode::Bimodal => "bimodal",
            CautionCode::DifferentFacts => "different-facts",
        }
    }
}

/// A warning about a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// What it is about.
    pub code: CautionCode,
    /// One or two sentences for people.
    pub text: String,
}

/// One workload on both sides. Ratios are the second side's value over the first's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadComparison {
    /// Name of the workload.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// What counts as one value.
    pub independent: Unit,
    /// The test that decided.
    pub method: Method,
    /// The answer, corrected for all workloads of the suite.
    pub answer: Answer,
    /// Chance of a difference as great as this between equal sides. None when no test is possible.
    pub p: Option<f64>,
    /// The same, corrected by Holm's procedure: below 1 − level of the suite when a difference is detected.
    pub p_corrected: Option<f64>,
    /// Ratio of the sides, with the interval that belongs to the test.
    pub ratio: Option<Bounded>,
    /// Shift between the sides, in the figure's unit, with the interval that belongs to the test of ranks.
    pub shift: Option<Bounded>,
    /// Ratio of the two medians, with its bootstrap interval. None when there are too few units.
    pub ratio_of_medians: Option<Bounded>,
    /// The smallest ratio above 1 that would be detected four times in five. None when none would be, or it can't be told.
    pub detectable: Option<f64>,
    /// What may make it lie.
    pub cautions: Vec<Caution>,
}

/// Several workloads on both sides. `format` is [`SuiteComparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteComparison {
    /// Name and version of this structure.
    pub format: String,
    /// Chance with which no workload at all is falsely said to differ.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Draws of the bootstrap, or more where a level asked for it.
    pub resamples: u32,
    /// The workloads, in the order given.
    pub workloads: Vec<WorkloadComparison>,
    /// Geometric mean of the improvements: above 1 the second side is better. None unless all workloads have a ratio.
    pub improvement: Option<Bounded>,
}

impl SuiteComparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-comparison/1";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_all() {
        assert_eq!(CautionCode::ALL.len(), CautionCode::DifferentFacts as usize + 1);
        assert!(CautionCode::ALL.is_sorted());
    }

    #[test]
    fn words_are_those_of_the_files() {
        for code in CautionCode::ALL {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{}\"", code.word()));
        }
    }
}
