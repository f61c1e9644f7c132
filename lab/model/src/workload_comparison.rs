//! Two sides measured under the same names: what differs, how surely, and what could have been seen. Computed by `stats`, shown by `report`.

use crate::direction::Direction;
use crate::said::Said;
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

/// A figure with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A boot: the median of its runs.
    Boot,
    /// A run: the median of its intervals.
    Run,
    /// A summary: one figure that another tool computed from several runs.
    Summary,
}

/// The test that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The second side is better: a higher rate, or a lower time.
    Faster,
    /// The second side is worse.
    Slower,
    /// The confidence interval lies within the margin of equality.
    Equal,
    /// None of these was shown; [`WorkloadComparison::inconclusive`] says why.
    Inconclusive,
}

/// Why a workload's comparison is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Inconclusive {
    /// There are too few independent values, or the first look isn't due yet: [`Caution::FewUnits`] has the numbers.
    FewValues,
    /// A side was measured in a single boot, which the other side doesn't share.
    ConfoundedBoots,
    /// The sides were measured one after the other, and nothing shows that the machine did the same meanwhile.
    NotInterleaved,
    /// The confidence interval is too wide for an estimate to mean anything.
    TooNoisy,
    /// No difference is statistically significant, and the confidence interval reaches past the margin of equality:
    /// [`WorkloadComparison::detectable`] is the smallest change that would have been detected.
    PastMargin,
}

impl Inconclusive {
    /// Whether the ratio is worth showing: it was estimated, and not from noise alone.
    pub fn has_estimate(self) -> bool {
        match self {
            Inconclusive::NotInterleaved | Inconclusive::PastMargin => true,
            Inconclusive::FewValues | Inconclusive::ConfoundedBoots | Inconclusive::TooNoisy => false,
        }
    }
}

/// What one side consists of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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

/// A warning about a comparison, with what was seen. [`CautionCode`] are the same without the values. `stats` finds it
/// (`stats/src/two_sample/cautions.rs`), `report` finds the words (`report/src/sentences/caution.rs`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum_discriminants(name(CautionCode), doc = "What a comparison's warning is about.")]
#[strum_discriminants(derive(PartialOrd, Ord, Hash, VariantArray, IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "kebab-case"))]
pub enum Caution {
    /// Too few independent values, or no look was due yet.
    FewUnits(FewUnits),
    /// A side was seen in one boot only, or nobody knows in how many.
    OneBoot {
        /// What is known of the boots.
        boots: OneBoot,
    },
    /// One side was measured after the other, or the order of the measurements isn't known.
    NotInterleaved {
        /// Why the record does not show that the machine was quiet; empty if it does.
        not_quiet: Vec<NotQuiet>,
    },
    /// Other processes used CPU time while a side was measured.
    Load {
        /// CPUs that they used on average while the first side ran; none where that isn't more than usual.
        a: Option<f64>,
        /// While the second side ran.
        b: Option<f64>,
    },
    /// A hypervisor took CPU time away while a side was measured.
    Steal {
        /// Share of the machine's CPU time while the first side ran; none where that isn't more than usual.
        a: Option<f64>,
        /// While the second side ran.
        b: Option<f64>,
    },
    /// Values move in one direction over time.
    Drift {
        /// Where the first side's go; none where they don't.
        a: Option<Drift>,
        /// The second side's.
        b: Option<Drift>,
    },
    /// Values fall into two groups.
    Bimodal {
        /// The first side's groups; none where it has one.
        a: Option<Groups>,
        /// The second side's.
        b: Option<Groups>,
    },
    /// The sides' machines differ.
    DifferentFacts {
        /// Keys of the facts that differ.
        keys: Vec<String>,
    },
}

/// Why a record does not show that the machine was quiet while the sides were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum NotQuiet {
    /// The CPU times of the machine were not recorded.
    NotRecorded,
    /// Other processes used CPU time.
    Load,
    /// A hypervisor took CPU time away.
    Steal,
    /// Other programs ran when a session began.
    BusyAtStart,
    /// The CPUs change their frequency: by their governor, or by boost.
    Frequency,
}

/// Of what there is too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum FewUnits {
    /// Blocks that give a pair of values.
    Pairs {
        /// Such blocks.
        pairs: u32,
        /// How many it takes to show any difference.
        needed: u32,
    },
    /// Values for a test of ranks: another test decided.
    ForRanks {
        /// What one value is.
        unit: Unit,
        /// Values of the first side.
        a: u32,
        /// Of the second.
        b: u32,
    },
    /// Values for any test.
    ForAnyTest {
        /// What one value is.
        unit: Unit,
        /// Values of the first side.
        a: u32,
        /// Of the second.
        b: u32,
    },
    /// Blocks: the first look isn't due yet.
    NoLook {
        /// Blocks that are measured.
        measured: u32,
        /// Blocks before the first look.
        first_look: u32,
    },
}

/// What is known of the boots where they are no several ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum OneBoot {
    /// Both sides ran in one and the same.
    Shared,
    /// Nobody knows in how many.
    Unknown,
    /// A side was seen in one boot only, which the other doesn't share.
    Confounded,
}

/// Where values go over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// Up.
    Rise,
    /// Down.
    Fall,
}

/// Two groups of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Groups {
    /// The greatest value of the lower group.
    pub up_to: f64,
    /// The least value of the upper one.
    pub from: f64,
}

impl Caution {
    /// What it is about.
    pub fn code(&self) -> CautionCode {
        CautionCode::from(self)
    }
}

impl CautionCode {
    /// The code as it is written: `not-interleaved`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// One workload on both sides. Ratios are the second side's value over the first's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WorkloadComparison {
    /// Name of the workload.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is better.
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
    /// Why the answer is [`Answer::Inconclusive`]; none where it isn't.
    pub inconclusive: Option<Inconclusive>,
    /// The margin of equality, as a share: sides whose ratio lies within [1/(1 + margin), 1 + margin] count as equal.
    pub margin: f64,
    /// Whether the confidence interval at the Bonferroni level lies within the margin. A difference can be statistically significant and within it.
    pub within_margin: bool,
    /// Chance of a difference as great as this between equal sides. None when no test is possible.
    pub p: Option<f64>,
    /// The same, corrected by Holm's procedure: below 1 − level of the suite when a difference is detected.
    pub p_corrected: Option<f64>,
    /// Ratio of the sides, with the interval that belongs to the test: at Holm's level for a difference, at the Bonferroni level otherwise.
    pub ratio: Option<Bounded>,
    /// Shift between the sides, in the figure's unit, with the interval that belongs to the test of ranks.
    pub shift: Option<Bounded>,
    /// Ratio of the two medians, with its bootstrap interval. None when there are too few units.
    pub ratio_of_medians: Option<Bounded>,
    /// The smallest ratio above 1 that is detected with 80 % power; `None` if there is none, or if it is unknown.
    pub detectable: Option<f64>,
    /// What may make it lie.
    pub cautions: Vec<Said<Caution>>,
}

/// Several workloads on both sides. `format` is [`SuiteComparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteComparison {
    /// Name and version of this structure.
    pub format: String,
    /// Familywise confidence level over all workloads: 0…1.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Draws of the bootstrap, or more where a level asked for it.
    pub resamples: u32,
    /// The workloads, in the order given.
    pub workloads: Vec<WorkloadComparison>,
    /// Geometric mean of the improvements: above 1 the second side is better. None unless every workload has an estimate that holds.
    pub improvement: Option<Bounded>,
}

impl SuiteComparison {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-comparison/3";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_files() {
        let caution = Caution::FewUnits(FewUnits::Pairs { pairs: 5, needed: 6 });
        let json = serde_json::to_string(&caution).unwrap();
        assert_eq!(json, r#"{"code":"few-units","why":"pairs","pairs":5,"needed":6}"#);
        assert_eq!(serde_json::from_str::<Caution>(&json).unwrap(), caution);
        assert_eq!(caution.code().word(), "few-units");
        assert!(CautionCode::VARIANTS.is_sorted());
    }
}
