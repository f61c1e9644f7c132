//! Up to where people and searches said something of changes: only if somebody said something since, it is read again.

use faultline_experiment::{Error, Places, stored};
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunId, RunLine, RunState};

/// Up to where something was said. Another mark means that something was said since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SaidMark {
    newest: i64,
    searches: Vec<(RunId, RunState)>,
}

impl SaidMark {
    /// Of all that is said now. Fails if the database cannot be read.
    pub(crate) fn now(runs: &[RunLine], places: &Places) -> Result<Self, Error> {
        let searches = runs.iter().filter(|run| run.kind == KindOfRun::Drill);
        let searches = searches.map(|run| (run.id, run.state)).collect();
        Ok(SaidMark { newest: stored::newest_said(places)?, searches })
    }
}
