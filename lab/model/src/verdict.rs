//! Whether a curve scales: the verdict, the point that it rests on, and the reason where there is no answer. `stats` finds them
//! (`stats/src/verdict.rs`), `report` finds the words.

use crate::estimate::Estimate;
use crate::said::Said;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// Whether a curve scales.
// Their order is that in which verdicts are counted up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Efficiency is high, interval included.
    Scales,
    /// It gets faster with CPUs, but falls short of high efficiency.
    Partly,
    /// CPUs added are mostly lost.
    DoesNotScale,
    /// The figures do not decide. [`CurveVerdict::reason`] says why.
    Inconclusive,
    /// There are fewer than two points with figures.
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

/// What a verdict rests on: one of the curve's points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct VerdictBasis {
    /// The point's number of tasks, each of which has a CPU's whole time.
    pub tasks: u32,
    /// The point's efficiency.
    pub efficiency: Estimate,
}

/// Why a verdict is inconclusive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InconclusiveVerdict {
    /// Too few blocks have a value of both the base and the point.
    FewRepeats {
        /// Blocks that a verdict needs.
        needed: u32,
    },
    /// The efficiency's interval contains a limit between two verdicts.
    AcrossLimit {
        /// The efficiencies that are limits and lie in the interval.
        limits: Vec<f64>,
    },
    /// Something took CPU time from the tasks, and without it the verdict could be another.
    Disturbed {
        /// What the figures as they are would say.
        as_measured: Verdict,
        /// Where the efficiency could lie without the disturbance; none where it could lie anywhere.
        could_be: Option<EfficiencyRange>,
        /// What took the time, at the base and at the point.
        by: Vec<Disturbance>,
    },
    /// Tasks are faster together than alone, by more than noise explains: the base was probably slowed down.
    SuperLinear {
        /// The highest efficiency that is taken as it is.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EfficiencyRange {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// What took CPU time from the tasks of one of a curve's points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Disturbance {
    /// The point's number of tasks.
    pub tasks: u32,
    /// What it was.
    #[serde(flatten)]
    pub cause: DisturbanceCause,
}

/// What took CPU time from tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum DisturbanceCause {
    /// Other programs.
    Others {
        /// CPUs that they used.
        cpus: f64,
    },
    /// A hypervisor.
    Steal {
        /// Share of the machine's CPU time that it took.
        share: f64,
    },
    /// A control group's limit.
    Quota {
        /// The time that it allows, in CPUs.
        cpus: f64,
    },
    /// Tasks that run on the same core.
    SharedCores {
        /// Physical cores.
        cores: u32,
    },
}

/// Whether a curve scales, and what says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CurveVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on; none when it is [`Verdict::NotMeasured`].
    #[serde(rename = "verdict_rests_on", default)]
    pub rests_on: Option<VerdictBasis>,
    /// Why it is [`Verdict::Inconclusive`]; none for any other verdict.
    #[serde(rename = "verdict_reason", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<Said<InconclusiveVerdict>>,
}

impl CurveVerdict {
    /// The verdict on a curve without two points to compare.
    pub const NOT_MEASURED: CurveVerdict = CurveVerdict::of(Verdict::NotMeasured, None);

    /// A verdict that needs no reason.
    pub const fn of(verdict: Verdict, rests_on: Option<VerdictBasis>) -> CurveVerdict {
        CurveVerdict { verdict, rests_on, reason: None }
    }

    /// No verdict, for a reason.
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
