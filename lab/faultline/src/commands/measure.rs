//! Runs what is missing of a saved run, and shows what came of it. `run` and `resume` both end here.

use super::report::write_page;
use crate::arguments::Conduct;
use crate::failure::{self, Failure};
use crate::{output, progress};
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord, Session};
use faultline_model::time::UnixMillis;
use faultline_runner::lens::Lens;
use faultline_runner::{Completion, PlannedRun};
use faultline_store::Store;
use faultline_targets::{StopFlag, Target};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// The machine as it is now, as a session's beginning.
pub(super) fn session(target: &dyn Target) -> Session {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let started = UnixMillis(since.map_or(0, |since| since.as_millis() as i64));
    Session { started, facts: target.facts() }
}

/// Runs the items of `run` that have not ended, to the end or to Ctrl-C.
pub(super) fn measure(
    store: &mut Store,
    run: RunId,
    target: &dyn Target,
    conduct: &Conduct,
    stop: &StopFlag,
    lens: Option<&dyn Lens>,
) -> Result<ExitCode, Failure> {
    let record = store.load_run(run)?;
    let items = missing(&record);
    let planned_limit = record.settings.limit_ms.map(Duration::from_millis);
    let planned =
        PlannedRun { target, settings: &record.settings, items: &items, limit: conduct.limit.or(planned_limit), lens };
    let mut shown = progress::shown(&record, conduct.quiet);
    let ran = faultline_runner::run(&planned, &mut store.journal(run), shown.as_mut(), stop);
    drop(shown);
    match ran? {
        Completion::Stopped => {
            failure::warn(&format!("stopped; what was measured is saved as run {run}"));
            failure::warn(&match lens {
                None => format!("hint: `faultline resume {run}` goes on"),
                Some(_) => format!("hint: `faultline show {run}` shows it"),
            });
            return Ok(failure::stopped());
        }
        Completion::BudgetUsed(left) => store.skip_items(run, &left)?,
        Completion::Finished => {}
    }
    store.finish_run(run)?;
    conclude(store, run, conduct)
}

pub(super) fn missing(record: &RunRecord) -> Vec<PlanItem> {
    let open =
        |item: &&PlanItem| record.final_attempt(item.ordinal).is_none() && !record.skipped.contains(&item.ordinal);
    record.plan.iter().filter(open).cloned().collect()
}

/// A flag that Ctrl-C sets, and whatever else asks us to end. To be called once.
pub(super) fn stop_on_signals() -> Result<StopFlag, Failure> {
    let stop = StopFlag::default();
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.set())
        .map_err(|error| Failure::new(format!("cannot take signals: {error}"), "check the system's limits"))?;
    Ok(stop)
}

/// Shows a run that has ended: table, page, and where it is saved. Its status says whether anything failed.
pub(super) fn conclude(store: &Store, run: RunId, conduct: &Conduct) -> Result<ExitCode, Failure> {
    let record = store.load_run(run)?;
    let summary = faultline_stats::summarise(&record);
    // The page first: a reader of the table who goes early, or a full standard output, must not cost it.
    if let Some(path) = &conduct.output {
        write_page(&record, path)?;
    }
    output::print(&faultline_report::run_table(&summary, conduct.format.format, &output::style()))?;
    if !conduct.quiet {
        failure::warn(&format!("saved as run {run} in {}", store.path().display()));
    }
    let any_failed = record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).any(Outcome::is_failure);
    Ok(if any_failed { failure::some_failed() } else { ExitCode::SUCCESS })
}
