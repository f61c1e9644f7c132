//! Gates: a run that is done is held to budgets and to another run.

use super::request::Gates;
use crate::error::Error;
use crate::places::Places;
use crate::stored;
use faultline_model::lens::gate::GateReport;
use faultline_model::record::{RunId, RunRecord};
use faultline_stats::lens::{Tolerance, against, check};

/// A run that counted under the lens; refuses one that measured time.
pub fn under_lens(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    let record = stored::load(run, places)?;
    if record.settings.lens().is_some() {
        return Ok(record);
    }
    Err(Error::usage(
        format!("run {} measured time, not transfers", record.id),
        "`faultline lens kernel` and `faultline lens program` make runs that can be compared",
    ))
}

/// The run to be held against, which must be there before anything is run.
pub(super) fn baseline(gates: &Gates, places: &Places) -> Result<Option<RunRecord>, Error> {
    gates.baseline.map(|run| under_lens(run, places)).transpose()
}

/// Holds `record` to all that was asked for.
pub(super) fn hold(gates: &Gates, baseline: Option<&RunRecord>, record: &RunRecord) -> Vec<GateReport> {
    let budgets = (!gates.budgets.is_empty()).then(|| check(&gates.budgets, record));
    let against = baseline.map(|baseline| against(record, baseline, Tolerance::default()));
    budgets.into_iter().chain(against).collect()
}
