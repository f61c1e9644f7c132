//! The result of a gate: figures compared with budgets or with another run, and where to look if one is exceeded.

use crate::failure::Failure;
use crate::lens::budget::Metric;
use crate::lens::comparison::{Difference, WhyUnmatched};
use crate::lens::place::Place;
use crate::lens::problem::Problem;
use crate::lens::summary::LineFigures;
use crate::lens::types::TypeFigures;
use crate::lens::untyped::Untyped;
use crate::record::RunId;
use crate::said::Said;
use serde::{Deserialize, Serialize};

/// A figure compared with its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Standing {
    /// It is within the limit.
    Kept {
        /// The figure.
        value: f64,
    },
    /// It exceeds the limit.
    Exceeded {
        /// The figure.
        value: f64,
        /// The lines with most transfers.
        lines: Vec<LineFigures>,
        /// The code with most transfers.
        code: Vec<Place>,
        /// The type, if the limit is one of a type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<TypeFigures>>,
    },
    /// There is no figure that can be checked. Counts as a failure.
    NoFigure(Said<NoFigure>),
}

/// Why there is no figure that can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NoFigure {
    /// The run has no such case at that number of CPUs.
    NoSuchCell,
    /// The cell was not run.
    NotRun,
    /// The limit is one of a type, and the cell was not counted by type.
    NoTypes {
        /// Why what the kernel allocated has no types, if that is the reason; otherwise the run is of an older version.
        why: Option<Untyped>,
    },
    /// The limit is one of a type, whose instructions are not counted.
    NotOfTypes,
    /// Every attempt at the cell failed.
    AllFailed {
        /// Each failure.
        failures: Vec<Failure>,
    },
    /// Some attempts at the cell failed; the others are within the limit.
    SomeFailed {
        /// Each failure.
        failures: Vec<Failure>,
    },
    /// The cell and the baseline's count differently.
    Unlike {
        /// In which way; the baseline is the first run.
        why: WhyUnmatched,
    },
    /// The cell is within the limit, but its counts are less than was asked for.
    CountedTooLittle {
        /// The first reason for that.
        problem: Problem,
    },
}

impl From<NoFigure> for Standing {
    fn from(reason: NoFigure) -> Self {
        Standing::NoFigure(reason.into())
    }
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The type that is limited; `None` for a limit of whole cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The case, or what the budget names if the run has no such case.
    pub case: String,
    /// The number of CPUs.
    pub cpus: u32,
    /// What is checked.
    pub metric: Metric,
    /// The greatest allowed figure, per operation; `None` if there is nothing to compare with.
    pub limit: Option<f64>,
    /// The seeds of the readings that were checked, ascending; empty if one of them does not repeat exactly.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// The result.
    pub standing: Standing,
    /// What differs from the baseline, the greatest difference first; empty for a budget.
    pub differences: Vec<Difference>,
}

impl Check {
    /// Whether the check passes.
    pub fn passed(&self) -> bool {
        matches!(self.standing, Standing::Kept { .. })
    }
}

/// The result of a gate. `format` is [`GateReport::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateReport {
    /// Name and version of this structure.
    pub format: String,
    /// The run that was checked.
    pub run: RunId,
    /// The run that it was compared with; `None` for budgets.
    pub baseline: Option<RunId>,
    /// Every limit.
    pub checks: Vec<Check>,
}

impl GateReport {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-gate/3";

    /// Whether there is at least one limit, and every one is met.
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(Check::passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_survives_json_with_its_words() {
        let problem = Problem::LeftProcesses;
        let standing = Standing::from(NoFigure::CountedTooLittle { problem });
        let json = serde_json::to_string(&standing).unwrap();
        assert!(json.starts_with(r#"{"kind":"no_figure","reason":"counted-too-little","problem":{"#), "{json}");
        assert_eq!(serde_json::from_str::<Standing>(&json).unwrap(), standing);
        let words = r#"{"kind":"no_figure","reason":"not-run","text":"it was not run"}"#;
        assert_eq!(serde_json::from_str::<Standing>(words).unwrap(), Standing::from(NoFigure::NotRun));
    }
}
