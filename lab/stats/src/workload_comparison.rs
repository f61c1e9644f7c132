//! Two sides with values under the same names: differences, their significance, and the smallest
//! detectable difference. Computed by `stats`, shown by `report`.

use crate::said::Said;
use faultline_record::direction::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

/// A figure with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Bounded {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level: 0…1.
    pub level: f64,
}

/// Kind of an independent value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A boot: the median of its runs.
    Boot,
    /// A run: the median of its intervals.
    Run,
    /// A summary: one figure that another tool computed from several runs.
    Summary,
}

/// The test that decided the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Wilcoxon's signed-rank test of the differences within blocks; Tukey's interval.
    SignedRanks,
    /// The Wilcoxon-Mann-Whitney rank test; Hodges and Lehmann's interval.
    Ranks,
    /// Welch's test on logarithms, if there are too few units for a rank test.
    Welch,
    /// No test: too few units for any answer at this level.
    None,
}

/// The answer about one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The second side is better: a higher rate, or a lower time.
    Faster,
    /// The second side is worse.
    Slower,
    /// The confidence interval lies within the margin of equality.
    Equal,
    /// None of the others was shown; [`WorkloadComparison::inconclusive`] has the reason.
    Inconclusive,
}

/// Reason why a workload's comparison is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Inconclusive {
    /// Too few independent values, or the first look is not due yet: [`Caution::FewUnits`] has the
    /// numbers.
    FewValues,
    /// Executions of a side failed. Those that succeeded may be a biased selection.
    Failures,
    /// A side was measured in a single boot that the other side does not share.
    ConfoundedBoots,
    /// The sides were measured one after the other, and nothing shows that the machine's state was
    /// the same.
    NotInterleaved,
    /// The confidence interval is too wide for a meaningful estimate.
    TooNoisy,
    /// No difference is statistically significant, and the confidence interval exceeds the margin
    /// of equality: [`WorkloadComparison::detectable`] is the smallest detectable change.
    PastMargin,
}

impl Inconclusive {
    /// True if the ratio is worth showing: estimated, and not only noise.
    pub fn has_estimate(self) -> bool {
        match self {
            Inconclusive::NotInterleaved | Inconclusive::PastMargin => true,
            Inconclusive::FewValues
            | Inconclusive::Failures
            | Inconclusive::ConfoundedBoots
            | Inconclusive::TooNoisy => false,
        }
    }
}

/// Sample sizes and averages of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Side {
    /// Number of boots.
    pub boots: u32,
    /// Number of runs.
    pub runs: u32,
    /// Number of intervals.
    pub intervals: u32,
    /// Number of independent values.
    pub units: u32,
    /// Median of the units, in the figure's unit.
    pub median: f64,
    /// Mean of the runs: arithmetic for times, harmonic for rates.
    pub mean: f64,
}

/// A warning about a comparison, with its values. [`CautionCode`] has the same kinds without
/// values. `stats` detects it (`stats/src/two_sample/cautions.rs`); `report` writes the text
/// (`report/src/sentences/caution.rs`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, EnumDiscriminants, JsonSchema, ts_rs::TS)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum_discriminants(name(CautionCode), doc = "Kind of a comparison's warning.")]
#[strum_discriminants(derive(PartialOrd, Ord, Hash, VariantArray, IntoStaticStr))]
#[strum_discriminants(strum(serialize_all = "kebab-case"))]
pub enum Caution {
    /// Too few independent values, or no look is due yet.
    FewUnits(FewUnits),
    /// A side was measured in a single boot, or its number of boots is unknown.
    OneBoot {
        /// Known facts about the boots.
        boots: OneBoot,
    },
    /// One side was measured after the other, or the order is unknown.
    NotInterleaved {
        /// Reasons why the record does not show that the machine was quiet; empty if it does.
        not_quiet: Vec<NotQuiet>,
    },
    /// Other processes used CPU time while a side was measured.
    Load {
        /// CPUs that they used on average while the first side ran; `None` if no more than usual.
        a: Option<f64>,
        /// As above, for the second side.
        b: Option<f64>,
    },
    /// A hypervisor stole CPU time while a side was measured.
    Steal {
        /// Share of the machine's CPU time stolen while the first side ran; `None` if no more than
        /// usual.
        a: Option<f64>,
        /// As above, for the second side.
        b: Option<f64>,
    },
    /// Values drift over time.
    Drift {
        /// Drift of the first side, if any.
        a: Option<Drift>,
        /// Drift of the second side, if any.
        b: Option<Drift>,
    },
    /// Values fall into two groups.
    Bimodal {
        /// Groups of the first side; `None` if it has only one.
        a: Option<Groups>,
        /// Groups of the second side; `None` if it has only one.
        b: Option<Groups>,
    },
    /// The sides' machines differ.
    DifferentFacts {
        /// Keys of the facts that differ.
        keys: Vec<String>,
    },
}

/// Reason why a record does not show that the machine was quiet while the sides were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum NotQuiet {
    /// The CPU times of the machine were not recorded.
    NotRecorded,
    /// Other processes used CPU time.
    Load,
    /// A hypervisor stole CPU time.
    Steal,
    /// Other programs ran when a session began.
    BusyAtStart,
    /// CPU frequency changes, by governor or boost.
    Frequency,
}

/// Kind of value of which there are too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum FewUnits {
    /// Blocks with a pair of values.
    Pairs {
        /// Number of such blocks.
        pairs: u32,
        /// Number needed to detect any difference.
        needed: u32,
    },
    /// Values for a rank test; another test decided.
    ForRanks {
        /// Kind of value.
        unit: Unit,
        /// Values of the first side.
        a: u32,
        /// Values of the second side.
        b: u32,
    },
    /// Values for any test.
    ForAnyTest {
        /// Kind of value.
        unit: Unit,
        /// Values of the first side.
        a: u32,
        /// Values of the second side.
        b: u32,
    },
    /// Blocks: the first look is not due yet.
    NoLook {
        /// Number of measured blocks.
        measured: u32,
        /// Number of blocks before the first look.
        first_look: u32,
    },
}

/// Facts about the boots if there are not several known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum OneBoot {
    /// Both sides share one boot.
    Shared,
    /// The number of boots is unknown.
    Unknown,
    /// A side was measured in a single boot that the other side does not share.
    Confounded,
}

/// Direction of drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// Up.
    Rise,
    /// Down.
    Fall,
}

/// Two groups of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Groups {
    /// The largest value of the lower group.
    pub up_to: f64,
    /// The smallest value of the upper group.
    pub from: f64,
}

impl Caution {
    /// The code of its kind.
    pub fn code(&self) -> CautionCode {
        CautionCode::from(self)
    }
}

impl CautionCode {
    /// The code as text, such as `not-interleaved`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Comparison of one workload. Ratios are second side divided by first side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct WorkloadComparison {
    /// Name of the workload.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// Kind of an independent value.
    pub independent: Unit,
    /// The test that decided the answer.
    pub method: Method,
    /// The answer, corrected for the number of workloads.
    pub answer: Answer,
    /// Reason of [`Answer::Inconclusive`]; `None` for any other answer.
    pub inconclusive: Option<Inconclusive>,
    /// The margin of equality, as a share: sides whose ratio lies within [1/(1 + margin), 1 +
    /// margin] count as equal.
    pub margin: f64,
    /// True if the confidence interval at the Bonferroni level lies within the margin. A difference
    /// can be statistically significant and within the margin.
    pub within_margin: bool,
    /// p-value: probability of a difference at least as large if the sides are equal. `None` if no
    /// test is possible.
    pub p: Option<f64>,
    /// p-value corrected by Holm's procedure: below 1 − the suite's level if a difference is
    /// detected.
    pub p_corrected: Option<f64>,
    /// Ratio of the sides, with the test's interval: at Holm's level for a difference, otherwise at
    /// the Bonferroni level.
    pub ratio: Option<Bounded>,
    /// Shift between the sides, in the figure's unit, with the rank test's interval.
    pub shift: Option<Bounded>,
    /// Ratio of the two medians, with its bootstrap interval. `None` with too few units.
    pub ratio_of_medians: Option<Bounded>,
    /// The smallest ratio above 1 that is detected with 80 % power; `None` if there is none or it
    /// is unknown.
    pub detectable: Option<f64>,
    /// Warnings about misleading figures.
    pub cautions: Vec<Said<Caution>>,
}

impl WorkloadComparison {
    /// The values alone, without the results of tests and intervals of differences.
    pub(crate) fn without_answer(self, why: Inconclusive) -> Self {
        WorkloadComparison {
            method: Method::None,
            answer: Answer::Inconclusive,
            inconclusive: Some(why),
            within_margin: false,
            p: None,
            p_corrected: None,
            ratio: None,
            shift: None,
            ratio_of_medians: None,
            detectable: None,
            ..self
        }
    }
}

/// Comparison of several workloads. `format` is [`SuiteComparison::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteComparison {
    /// Name and version of this structure.
    pub format: String,
    /// Familywise confidence level over all workloads: 0…1.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Number of bootstrap draws; larger if a level requires it.
    pub resamples: u32,
    /// The workloads, in the order given.
    pub workloads: Vec<WorkloadComparison>,
    /// Geometric mean of the improvements: above 1 if the second side is better. `None` unless
    /// every workload has a usable estimate.
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
    fn words_are_those_of_the_files() {
        let caution = Caution::FewUnits(FewUnits::Pairs { pairs: 5, needed: 6 });
        let json = serde_json::to_string(&caution).unwrap();
        assert_eq!(json, r#"{"code":"few-units","why":"pairs","pairs":5,"needed":6}"#);
        assert_eq!(serde_json::from_str::<Caution>(&json).unwrap(), caution);
        assert_eq!(caution.code().word(), "few-units");
        assert!(CautionCode::VARIANTS.is_sorted());
    }
}
