//! Result of a gate: figures compared with budgets or with another run, and the main contributors
//! if a limit is exceeded.

use crate::lens::code_site::CodeSite;
use crate::lens::comparison::{Difference, WhyUnmatched};
use crate::lens::summary::LineFigures;
use crate::lens::types::TypeFigures;
use crate::said::Said;
use faultline_record::failure::Failure;
use faultline_record::lens::budget::Metric;
use faultline_record::lens::by_type::Untyped;
use faultline_record::lens::problem::Problem;
use faultline_record::record::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure compared with its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Standing {
    /// The figure is within the limit.
    Kept {
        /// The figure.
        value: f64,
    },
    /// The figure exceeds the limit.
    Exceeded {
        /// The figure.
        value: f64,
        /// Lines with the most transfers.
        lines: Vec<LineFigures>,
        /// Code with the most transfers.
        code: Vec<CodeSite>,
        /// The type, for a limit on a type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<TypeFigures>>,
    },
    /// No figure can be checked. Counts as a failure.
    NoFigure(Said<NoFigure>),
}

/// Reason why no figure can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NoFigure {
    /// The run has no such case at this number of CPUs.
    NoSuchCell,
    /// The cell was not run.
    NotRun,
    /// The limit is on a type, but the cell was not counted by type.
    NoTypes {
        /// Reason why the kernel's allocations have no types.
        why: Untyped,
    },
    /// The limit is on a type, but instructions are not counted by type.
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
    /// The cell and the baseline are not comparable.
    Unlike {
        /// The reason; the baseline is the first run.
        why: WhyUnmatched,
    },
    /// The cell is within the limit, but its counts are incomplete.
    CountedTooLittle {
        /// The first reason.
        problem: Problem,
    },
}

impl From<NoFigure> for Standing {
    fn from(reason: NoFigure) -> Self {
        Standing::NoFigure(reason.into())
    }
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Check {
    /// The limited type; `None` for a limit on whole cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The case; if the run has no such case, its name in the budget.
    pub case: String,
    /// The number of CPUs.
    pub cpus: u32,
    /// The limited figure.
    pub metric: Metric,
    /// The largest allowed figure, per operation; `None` if there is nothing to compare with.
    pub limit: Option<f64>,
    /// The seeds of the readings that were checked, ascending; empty if one of them does not repeat
    /// exactly.
    pub seeds: Vec<u64>,
    /// The result.
    pub standing: Standing,
    /// Differences from the baseline, the largest first; empty for a budget.
    pub differences: Vec<Difference>,
}

impl Check {
    /// True if the check passes.
    pub fn passed(&self) -> bool {
        matches!(self.standing, Standing::Kept { .. })
    }
}

/// The result of a gate. `format` is [`GateReport::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
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
    pub const FORMAT: &'static str = "faultline-lens-gate/1";

    /// True if there is at least one limit, and all are met.
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
