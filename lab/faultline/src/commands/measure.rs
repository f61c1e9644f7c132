//! Runs what is missing of a saved run, and shows what came of it. `run` and `resume` both end here.

use super::present;
use crate::arguments::Conduct;
use crate::failure::{self, Failure};
use crate::{output, progress};
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord, Session};
use faultline_model::time::UnixMillis;
use faultline_runner::lens::Lens;
use faultline_runner::{Completion, PlannedRun, Targets};
use faultline_store::Store;
use faultline_targets::{SettingsGuard, StopFlag, Target};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// The subjects' machines as they are now, as a session's beginning.
pub(super) fn session(by_subject: &[&dyn Target]) -> Session {
    Session { started: now(), facts: by_subject.iter().map(|target| target.facts()).collect() }
}

pub(super) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    UnixMillis(since.map_or(0, |since| since.as_millis() as i64))
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
    let targets = [target];
    let planned = PlannedRun {
        targets: Targets::new(&targets),
        settings: &record.settings,
        subjects: &record.subjects,
        items: &items,
        budget: record.settings.timed().and_then(|timed| timed.budget_ms).map(Duration::from_millis),
        limit: conduct.limit.or(planned_limit),
        lens,
    };
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
        Completion::LeftChanged(text) => return Err(left_changed(&text, run)),
        Completion::BudgetUsed(left) => store.skip_items(run, &left)?,
        Completion::Finished => {}
    }
    store.finish_run(run)?;
    conclude(store, run, conduct)
}

/// Puts back settings of the system that a comparison which was killed has left. One that is under way keeps its own.
pub(super) fn put_back_leftovers() -> Result<(), Failure> {
    tell_put_back(&SettingsGuard::put_back_leftovers()?);
    Ok(())
}

/// Says which settings were put back after a kill.
pub(super) fn tell_put_back(put_back: &[String]) {
    for one in put_back {
        failure::warn(&format!("a comparison that was killed had left the system changed: {one}"));
    }
}

/// Any number that fits a signed 64-bit integer, so that every reader of JSON and SQL can hold it.
pub(super) fn any_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// A setting that could not be put back.
pub(super) fn left_changed(text: &str, run: RunId) -> Failure {
    Failure::new(text, format!("put it back by hand; what was measured is saved, and `faultline resume {run}` goes on"))
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

/// Shows a run or a comparison that has ended: table, page, and where it is saved. Its status says whether anything failed.
pub(super) fn conclude(store: &Store, run: RunId, conduct: &Conduct) -> Result<ExitCode, Failure> {
    let record = store.load_run(run)?;
    // The page first: a reader of the table who goes early, or a full standard output, must not cost it.
    if let Some(path) = &conduct.output {
        present::write_page(&record, path)?;
    }
    output::print(&present::table(&record, conduct.format.format)?)?;
    if !conduct.quiet {
        failure::warn(&format!("saved as run {run} in {}", store.path().display()));
    }
    let any_failed = record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).any(Outcome::is_failure);
    Ok(if any_failed { failure::some_failed() } else { ExitCode::SUCCESS })
}
