//! Verdict on a curve, the point that it is based on, and the reason if it is inconclusive. `stats`
//! decides (`stats/src/judge.rs`); `report` writes the text.

use crate::estimate::Estimate;
use crate::said::Said;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// Verdict on a curve's scaling.
// In the order in which verdicts are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The efficiency's whole interval is high.
    Scales,
    /// Adding CPUs makes it faster, but below high efficiency.
    Partly,
    /// Added CPUs are mostly lost.
    DoesNotScale,
    /// The figures do not decide; [`CurveVerdict::reason`] has the reason.
    Inconclusive,
    /// Fewer than two points have figures.
    NotMeasured,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Scales => "scales",
            Verdict::Partly => "scales in part",
            Verdict::DoesNotScale => "does not scale",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// The point of a curve that a verdict is based on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct VerdictBasis {
    /// Number of tasks, each of which can have a whole CPU.
    pub tasks: u32,
    /// The point's efficiency.
    pub efficiency: Estimate,
}

/// Reason for an inconclusive verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr, JsonSchema, ts_rs::TS)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InconclusiveVerdict {
    /// Too few blocks have values of both the base and the point.
    FewRepeats {
        /// Number of blocks that a verdict needs.
        needed: u32,
    },
    /// The efficiency's interval contains a threshold between two verdicts.
    AcrossLimit {
        /// Thresholds within the interval.
        limits: Vec<f64>,
    },
    /// Something took CPU time from the tasks; without it, the verdict could be different.
    Disturbed {
        /// The verdict as measured.
        as_measured: Verdict,
        /// Possible range of the undisturbed efficiency; `None` if it is unbounded.
        could_be: Option<EfficiencyRange>,
        /// Causes of the lost time, at the base and at the point.
        by: Vec<Disturbance>,
    },
    /// Tasks are faster together than alone, by more than noise explains. Probably the base was
    /// slowed down.
    SuperLinear {
        /// The highest plausible efficiency.
        limit: f64,
    },
}

impl InconclusiveVerdict {
    /// The reason in a word: `across-limit`.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// Efficiencies from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct EfficiencyRange {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// A cause of lost CPU time at one of a curve's points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Disturbance {
    /// The point's number of tasks.
    pub tasks: u32,
    /// The cause.
    #[serde(flatten)]
    pub cause: DisturbanceCause,
}

/// A cause of lost CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum DisturbanceCause {
    /// Other programs.
    Others {
        /// CPUs used by them.
        cpus: f64,
    },
    /// A hypervisor.
    Steal {
        /// Share of the machine's CPU time that was stolen.
        share: f64,
    },
    /// A control group's limit.
    Quota {
        /// CPU time allowed, in CPUs.
        cpus: f64,
    },
    /// Tasks that share a core.
    SharedCores {
        /// Physical cores.
        cores: u32,
    },
}

/// Verdict on a curve, with its basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CurveVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The point that it is based on; `None` for [`Verdict::NotMeasured`].
    #[serde(rename = "verdict_rests_on")]
    pub rests_on: Option<VerdictBasis>,
    /// The reason of [`Verdict::Inconclusive`]; `None` for any other verdict.
    #[serde(rename = "verdict_reason", default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<Said<InconclusiveVerdict>>,
}

impl CurveVerdict {
    /// The verdict on a curve without two points to compare.
    pub const NOT_MEASURED: CurveVerdict = CurveVerdict::of(Verdict::NotMeasured, None);

    /// A verdict without a reason.
    pub const fn of(verdict: Verdict, rests_on: Option<VerdictBasis>) -> CurveVerdict {
        CurveVerdict { verdict, rests_on, reason: None }
    }

    /// An inconclusive verdict with its reason.
    pub fn inconclusive(rests_on: VerdictBasis, reason: InconclusiveVerdict) -> CurveVerdict {
        CurveVerdict { verdict: Verdict::Inconclusive, rests_on: Some(rests_on), reason: Some(reason.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stands_in_json_beside_the_verdict() {
        let efficiency = Estimate { median: 0.5, low: 0.25, high: 0.75, coverage: 0.5, n: 6 };
        let basis = VerdictBasis { tasks: 2, efficiency };
        let by = vec![Disturbance { tasks: 1, cause: DisturbanceCause::Others { cpus: 1.5 } }];
        let reason = InconclusiveVerdict::Disturbed { as_measured: Verdict::DoesNotScale, could_be: None, by };
        assert_eq!(reason.word(), "disturbed");
        let verdict = CurveVerdict::inconclusive(basis, reason);
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(json["verdict"], "inconclusive");
        assert_eq!(json["verdict_reason"]["reason"], "disturbed");
        assert_eq!(json["verdict_reason"]["by"][0], serde_json::json!({"tasks": 1, "cause": "others", "cpus": 1.5}));
        assert_eq!(serde_json::from_value::<CurveVerdict>(json).unwrap(), verdict);
        assert!(!serde_json::to_string(&CurveVerdict::NOT_MEASURED).unwrap().contains("reason"));
    }
}
