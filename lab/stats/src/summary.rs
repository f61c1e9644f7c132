//! Summary of a run: its figures, progress and warnings. Computed by `stats`, shown by `report`.

use crate::command_figures::CommandFigures;
pub use crate::figures::{Curve, Point, Progress, SideFigure, TimeShares};
use crate::lens::summary::LensSummary;
use crate::said::Said;
use crate::warnings::Warning;
use faultline_record::cell::Cell;
use faultline_record::record::{Conclusion, RunId, RunState};
use faultline_record::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a run. `format` is [`RunSummary::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct RunSummary {
    /// Name and version of this structure, for readers of JSON.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// Its label, if it has one.
    pub label: Option<String>,
    /// Start of the run.
    pub started: UnixMillis,
    /// State: running, finished or stopped.
    pub state: RunState,
    /// Machine and kernel, one line.
    pub machine: String,
    /// Progress of the plan.
    pub progress: Progress,
    /// Curves, in the order of the suite.
    pub curves: Vec<Curve>,
    /// Warnings about misleading figures.
    pub warnings: Vec<Said<Warning>>,
    /// The command that was measured instead of workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub command: Option<CommandFigures>,
    /// Figures of a lens run, which has no curves of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub lens: Option<LensSummary>,
}

impl Conclusion for RunSummary {
    const KIND: &'static str = "figures";
}

impl RunSummary {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-run-summary/1";

    /// The point of a cell.
    pub fn point(&self, cell: &Cell) -> Option<&Point> {
        self.curves.iter().find(|curve| curve.case == cell.case)?.point(cell.tasks)
    }
}
