//! What a gate found: figures against budgets or against another run, with what to look at where one is exceeded.

use crate::lens::comparison::Difference;
use crate::lens::summary::{LineFigures, Place};
use crate::record::RunId;
use serde::{Deserialize, Serialize};

/// How a figure stands to its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Standing {
    /// It keeps to it.
    Kept {
        /// The figure.
        value: f64,
    },
    /// It is above it.
    Exceeded {
        /// The figure.
        value: f64,
        /// The lines with most transfers.
        lines: Vec<LineFigures>,
        /// The code with most transfers.
        code: Vec<Place>,
    },
    /// There is no figure that could be judged. Counts as a failure.
    NoFigure {
        /// Why.
        reason: String,
    },
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The cell, or what names it in the budget: `fault_existing:shared at 8`.
    pub cell: String,
    /// What is judged: `transfers`, `instructions`.
    pub metric: String,
    /// The greatest figure allowed, per operation; none where there is nothing to compare with.
    pub limit: Option<f64>,
    /// How the figure stands to it.
    pub standing: Standing,
    /// What differs from the baseline, the greatest difference first; empty for a budget.
    pub differences: Vec<Difference>,
}

impl Check {
    /// Whether the gate lets it pass.
    pub fn passed(&self) -> bool {
        matches!(self.standing, Standing::Kept { .. })
    }
}

/// What a gate found. `format` is [`GateReport::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateReport {
    /// Name and version of this structure.
    pub format: String,
    /// The run that was judged.
    pub run: RunId,
    /// The run that it was judged against; none for budgets.
    pub baseline: Option<RunId>,
    /// Every limit.
    pub checks: Vec<Check>,
}

impl GateReport {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-lens-gate/1";

    /// Whether every limit is kept, and there is one.
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(Check::passed)
    }
}
