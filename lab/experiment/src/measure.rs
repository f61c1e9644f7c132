//! Measures what is missing of a saved run: a session's beginning, and stretches of items.

use crate::conclusion::{Conclusion, Measured};
use crate::error::Error;
use crate::lab::Lab;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunId, RunRecord, Session};
use faultline_model::time::UnixMillis;
use faultline_runner::lens::Naming;
use faultline_runner::{Completion, PlannedRun, Targets};
use faultline_store::Store;
use faultline_targets::Target;
use std::time::{Duration, SystemTime};

/// The subjects' machines as they are now, as a session's beginning.
pub(crate) fn session(by_subject: &[&dyn Target]) -> Session {
    Session { started: now(), facts: by_subject.iter().map(|target| target.facts()).collect() }
}

/// This moment.
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    UnixMillis(since.map_or(0, |since| since.as_millis() as i64))
}

/// Any number that fits a signed 64-bit integer, so that every reader of JSON and SQL can hold it.
pub(crate) fn any_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// A length in milliseconds.
pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// The items that have not ended and are not left out.
pub(crate) fn missing(record: &RunRecord) -> Vec<PlanItem> {
    let open =
        |item: &&PlanItem| record.final_attempt(item.ordinal).is_none() && !record.skipped.contains(&item.ordinal);
    record.plan.iter().filter(open).cloned().collect()
}

/// Time limit of each execution: the one given now, or the one that the run began with.
pub(crate) fn limit(given_ms: Option<u64>, record: &RunRecord) -> Option<Duration> {
    given_ms.or(record.settings.limit_ms).map(Duration::from_millis)
}

/// How a stretch of items came to its end.
pub(crate) enum Stretch {
    /// Every item has ended.
    Whole,
    /// The time budget was used up before these items, by ordinal, could begin.
    BudgetUsed(Vec<u32>),
    /// A stop was asked for.
    Stopped,
}

/// Measures items of `record`, and tells so.
pub(crate) fn stretch(
    store: &mut Store,
    record: &RunRecord,
    planned: &PlannedRun<'_>,
    lab: &mut Lab<'_>,
) -> Result<Stretch, Error> {
    lab.observer.measuring_begins(record);
    let ran = faultline_runner::run(planned, &mut store.journal(record.id), lab.observer, lab.stop);
    lab.observer.measuring_ends();
    match ran? {
        Completion::Finished => Ok(Stretch::Whole),
        Completion::BudgetUsed(left) => Ok(Stretch::BudgetUsed(left)),
        Completion::Stopped => Ok(Stretch::Stopped),
        Completion::LeftChanged(text) => Err(Error::failed(
            text,
            format!("put it back by hand; what was measured is saved, and `faultline resume {}` goes on", record.id),
        )),
    }
}

/// Measures what is missing of a run of one target, and concludes it. `limit_ms`: time limit of each execution in place of the run's own.
pub(crate) fn to_the_end(
    store: &mut Store,
    run: RunId,
    target: &dyn Target,
    limit_ms: Option<u64>,
    naming: Option<&Naming>,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let record = store.load_run(run)?;
    let items = missing(&record);
    let targets = [target];
    let planned = PlannedRun {
        targets: Targets::new(&targets),
        settings: &record.settings,
        subjects: &record.subjects,
        workloads: &record.workloads,
        items: &items,
        budget: record.settings.timed().and_then(|timed| timed.budget_ms).map(Duration::from_millis),
        limit: limit(limit_ms, &record),
        naming,
    };
    match stretch(store, &record, &planned, lab)? {
        Stretch::Stopped => return Ok(Measured::Stopped { run }),
        Stretch::BudgetUsed(left) => store.skip_items(run, &left)?,
        Stretch::Whole => {}
    }
    store.finish_run(run)?;
    Ok(Measured::Concluded(Box::new(Conclusion::of_saved(store, run)?)))
}
