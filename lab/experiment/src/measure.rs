//! Measures what is missing of a saved run: starts a session, and runs stretches of items.

use crate::conclusion::Ended;
use crate::error::Error;
use crate::lab::Lab;
use faultline_model::record::{RunHead, RunId, Session};
use faultline_runner::lens::Naming;
use faultline_runner::{Clock, Completion, PlannedRun, SubjectTargets, Targets};
use faultline_store::Store;
use faultline_targets::Target;
use std::num::NonZeroUsize;
use std::time::Duration;

/// The start of a session, with the present facts of the subjects' machines.
pub(crate) fn session(by_subject: &[&dyn Target], clock: &dyn Clock) -> Session {
    Session { started: clock.now(), facts: by_subject.iter().map(|target| target.facts()).collect() }
}

/// Any number that fits a signed 64-bit integer, so that every reader of JSON and SQL can hold it.
pub(crate) fn any_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// A length in milliseconds.
pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Time limit of each execution: the given one, or the one that the run began with.
pub(crate) fn limit(given_ms: Option<u64>, head: &RunHead) -> Option<Duration> {
    given_ms.or(head.settings.limit_ms).map(Duration::from_millis)
}

/// How a stretch of items ended.
pub(crate) enum Stretch {
    /// Every item has ended.
    Whole,
    /// The time budget was used up before these items could start; they are given by ordinal.
    BudgetUsed(Vec<u32>),
    /// A stop was requested.
    Stopped,
    /// The connection to a host was lost; the execution does not count.
    ConnectionLost(Error),
}

/// Measures items of a run, and reports events. Fails if the database cannot be written, or if a system setting could not be restored.
pub(crate) fn stretch(
    store: &mut Store,
    head: &RunHead,
    planned: &PlannedRun<'_>,
    lab: &mut Lab<'_>,
) -> Result<Stretch, Error> {
    lab.observer.measuring_begins(head);
    let ran = faultline_runner::run(planned, lab.clock, &mut store.journal(head.id), lab.observer, lab.stop);
    lab.observer.measuring_ends();
    match ran? {
        Completion::Finished => Ok(Stretch::Whole),
        Completion::BudgetUsed(left) => Ok(Stretch::BudgetUsed(left)),
        Completion::Stopped => Ok(Stretch::Stopped),
        Completion::ConnectionLost(text) => Ok(Stretch::ConnectionLost(host_lost(text, head))),
        Completion::LeftChanged(text) => Err(Error::failed(
            text,
            format!("restore it by hand; everything measured is saved, and `faultline resume {}` continues", head.id),
        )),
    }
}

/// The error for a host that cannot be reached any more.
pub(crate) fn host_lost(problem: String, head: &RunHead) -> Error {
    let hint =
        format!("everything measured is saved; `faultline resume {}` continues when the host answers again", head.id);
    Error::failed(problem, hint)
}

/// What a lens run needs in addition.
#[derive(Clone, Copy)]
pub(crate) struct UnderLens<'a> {
    /// Names for what is counted.
    pub(crate) naming: &'a Naming,
    /// How many executions may run at the same time.
    pub(crate) jobs: NonZeroUsize,
}

/// Measures what is missing of a run with one subject. `limit_ms`: time limit of each execution instead of the run's own. Fails if the database
/// cannot be written, if a system setting could not be restored, or if the connection to a host was lost.
pub(crate) fn to_the_end(
    store: &mut Store,
    run: RunId,
    targets: &SubjectTargets<'_>,
    limit_ms: Option<u64>,
    lens: Option<UnderLens<'_>>,
    lab: &mut Lab<'_>,
) -> Result<Ended, Error> {
    let head = store.load_head(run)?;
    let items = store.missing_items(run)?;
    let planned = PlannedRun {
        targets: Targets::by_subject(std::slice::from_ref(targets), &items)?,
        settings: &head.settings,
        subjects: &head.subjects,
        workloads: &head.workloads,
        items: &items,
        budget: head.settings.timed().and_then(|timed| timed.budget_ms).map(Duration::from_millis),
        limit: limit(limit_ms, &head),
        naming: lens.map(|lens| lens.naming),
        jobs: lens.map_or(NonZeroUsize::MIN, |lens| lens.jobs),
    };
    match stretch(store, &head, &planned, lab)? {
        Stretch::Stopped => return Ok(Ended::Stopped),
        Stretch::ConnectionLost(error) => return Err(error),
        Stretch::BudgetUsed(left) => store.skip_items(run, &left)?,
        Stretch::Whole => {}
    }
    store.finish_run(run)?;
    Ok(Ended::ToTheEnd)
}
