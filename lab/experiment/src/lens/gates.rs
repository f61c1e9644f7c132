//! Gates: compares a finished run with budgets and with another run.

use super::request::Gates;
use crate::error::Error;
use crate::places::Places;
use crate::stored;
use faultline_model::cell::Case;
use faultline_model::lens::gate::GateReport;
use faultline_model::record::{RunId, RunRecord};
use faultline_runner::Plan;
use faultline_stats::lens::{Budget, Tolerance, against, check};
use std::collections::BTreeSet;

/// A lens run. Fails if it does not exist, or if it measured time.
pub fn under_lens(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    let record = stored::load(run, places)?;
    if record.settings.lens().is_some() {
        return Ok(record);
    }
    Err(Error::usage(
        format!("run {} measured time, not transfers", record.id),
        "name a run of `faultline lens kernel` or `faultline lens program`",
    ))
}

/// The run to compare with, which must exist before anything runs. Fails if it does not, or if it is not a lens run.
pub(super) fn baseline(gates: &Gates, places: &Places) -> Result<Option<RunRecord>, Error> {
    gates.baseline.map(|run| under_lens(run, places)).transpose()
}

/// Refuses budgets for numbers of CPUs that are not run.
pub(super) fn check_counts(gates: &Gates, cpus: &[u32]) -> Result<(), Error> {
    match gates.budgets.iter().find(|budget| !cpus.contains(&budget.cpus())) {
        None => Ok(()),
        Some(budget) => {
            let counts: Vec<String> = cpus.iter().map(u32::to_string).collect();
            Err(Error::usage(
                format!("the budget '{budget}' is for {} CPUs, which are not run", budget.cpus()),
                format!("the run has {}: change the number after '@', or the numbers of the run", counts.join(", ")),
            ))
        }
    }
}

/// Refuses budgets that name none of the requested workloads.
pub(super) fn check_workloads(gates: &Gates, names: &[String]) -> Result<(), Error> {
    match gates.budgets.iter().find(|budget| !names.iter().any(|name| budget.is_about(name))) {
        None => Ok(()),
        Some(budget) => Err(names_nothing(budget, names)),
    }
}

fn names_nothing(budget: &Budget, there: &[String]) -> Error {
    Error::usage(
        format!("the budget '{budget}' names a case that is not run"),
        format!("the run has {}", there.join(", ")),
    )
}

/// Refuses budgets that name nothing in the plan.
pub(super) fn check_names(gates: &Gates, plan: &Plan) -> Result<(), Error> {
    let cases: BTreeSet<&Case> = plan.items.iter().map(|item| &item.cell.case).collect();
    match gates.budgets.iter().find(|budget| !cases.iter().any(|case| budget.is_for(case))) {
        None => Ok(()),
        Some(budget) => {
            let names: Vec<String> = cases.iter().map(ToString::to_string).collect();
            Err(names_nothing(budget, &names))
        }
    }
}

/// Applies all requested gates to `record`.
pub(super) fn hold(gates: &Gates, baseline: Option<&RunRecord>, record: &RunRecord) -> Vec<GateReport> {
    let budgets = (!gates.budgets.is_empty()).then(|| check(&gates.budgets, record));
    let against = baseline.map(|baseline| against(record, baseline, Tolerance::default()));
    budgets.into_iter().chain(against).collect()
}
