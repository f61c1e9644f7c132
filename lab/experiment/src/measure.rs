//! Measuring of a saved run: sessions, stretches of items, and the checks of a resume, which
//! refuses everything that a new run would refuse.

use crate::conclusion::Ended;
use crate::error::Error;
use crate::lab::Lab;
use faultline_record::plan::PlanItem;
use faultline_record::record::{RunHead, RunId, Session};
use faultline_record::subject::{Subject, SubjectIndex, SubjectKind};
use faultline_runner::lens::Naming;
use faultline_runner::{Clock, Completion, PlannedRun, SubjectTargets, Targets, further_blocks};
use faultline_store::Store;
use faultline_targets::{Target, lack};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The start of a session, with the facts of the subjects' machines.
pub(crate) fn session(by_subject: &[&dyn Target], clock: &dyn Clock) -> Session {
    Session { started: clock.now(), facts: by_subject.iter().map(|target| target.facts()).collect() }
}

/// A random seed that fits a signed 64-bit integer, so every reader of JSON and SQL can hold it.
pub fn any_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// A length in milliseconds.
pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Time limit of each execution: the given one, or the run's own.
pub(crate) fn limit(given_ms: Option<u64>, head: &RunHead) -> Option<Duration> {
    given_ms.or(head.settings.limit_ms).map(Duration::from_millis)
}

/// The end of a stretch of items.
pub(crate) enum Stretch {
    /// Every item has ended.
    Whole,
    /// The time budget was used up, or a failure ended the run, before these items, given by
    /// ordinal.
    LeftOut(Vec<u32>),
    /// A stop was requested.
    Stopped,
    /// The connection to a host was lost; the execution does not count.
    ConnectionLost(Error),
}

/// Measures items of a run, and reports events. Fails if the database cannot be written, if a
/// system setting could not be restored, or if the lab failed: then the item stays open.
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
        Completion::BudgetUsed(left) | Completion::EndedAtFailure(left) => Ok(Stretch::LeftOut(left)),
        Completion::Stopped => Ok(Stretch::Stopped),
        Completion::ConnectionLost(text) => Ok(Stretch::ConnectionLost(host_lost(text, head))),
        Completion::LabFailed(text) => Err(lab_failed(text, head.id)),
        Completion::LeftChanged(text) => Err(Error::failed(
            text,
            format!("restore it by hand; everything measured is saved, and `faultline resume {}` continues", head.id),
        )),
    }
}

/// Fails if this host lacks something after a failed boot, which is then not the kernel's.
pub(crate) fn check_lack(watch: &lack::Watch, lab: &Lab<'_>) -> Result<(), Error> {
    match watch.lack(&[&lab.places.scratch]) {
        Some(lack) => Err(Error::failed(lack.text, "remove the cause; `faultline resume` then continues")),
        None => Ok(()),
    }
}

/// The error for a failure of the lab. `problem`: its cause.
pub(crate) fn lab_failed(problem: String, run: RunId) -> Error {
    let hint = format!("remove the cause; everything measured is saved, and `faultline resume {run}` continues");
    Error::failed(problem, hint)
}

/// The error for an unreachable host.
pub(crate) fn host_lost(problem: String, head: &RunHead) -> Error {
    let hint =
        format!("everything measured is saved; `faultline resume {}` continues when the host answers again", head.id);
    Error::failed(problem, hint)
}

/// Additional parts of a lens run.
#[derive(Clone, Copy)]
pub(crate) struct UnderLens<'a> {
    /// Names for what is counted.
    pub(crate) naming: &'a Naming,
    /// Maximum number of parallel executions.
    pub(crate) jobs: NonZeroUsize,
}

/// Measures the missing items of a run with one subject. `limit_ms`: time limit of each execution
/// instead of the run's own. Fails if the database cannot be written, if a system setting could not
/// be restored, or if the connection to a host was lost.
pub(crate) fn to_the_end(
    store: &mut Store,
    run: RunId,
    targets: &SubjectTargets<'_>,
    limit_ms: Option<u64>,
    lens: Option<UnderLens<'_>>,
    lab: &mut Lab<'_>,
) -> Result<Ended, Error> {
    let head = store.load_head(run)?;
    let budget = head.settings.timed().and_then(|timed| timed.budget_ms).map(Duration::from_millis);
    let targets = SubjectTargets { naming: lens.map(|lens| lens.naming), ..targets.clone() };
    let began = lab.clock.monotonic();
    let mut items = store.missing_items(run)?;
    loop {
        let planned = PlannedRun {
            targets: Targets::by_subject(std::slice::from_ref(&targets), &items)?,
            settings: &head.settings,
            subjects: &head.subjects,
            workloads: &head.workloads,
            items: &items,
            budget: budget.map(|budget| budget.saturating_sub(lab.clock.monotonic() - began)),
            limit: limit(limit_ms, &head),
            jobs: lens.map_or(NonZeroUsize::MIN, |lens| lens.jobs),
        };
        match stretch(store, &head, &planned, lab)? {
            Stretch::Stopped => return Ok(Ended::Stopped),
            Stretch::ConnectionLost(error) => return Err(error),
            Stretch::LeftOut(left) => {
                store.skip_items(run, &left)?;
                break;
            }
            Stretch::Whole => items = grown(store, &head)?,
        }
        if items.is_empty() {
            break;
        }
    }
    store.finish_run(run)?;
    Ok(Ended::ToTheEnd)
}

/// The items by which the plan of a run grew, because its executions took less time than it must
/// spend. None for other runs, and after a failure, which more executions would only repeat.
fn grown(store: &mut Store, head: &RunHead) -> Result<Vec<PlanItem>, Error> {
    let Some(least_ms) = head.settings.timed().and_then(|timed| timed.least_ms) else { return Ok(Vec::new()) };
    if store.failed_attempts(head.id)? > 0 {
        return Ok(Vec::new());
    }
    let plan = store.load_run(head.id)?.plan;
    let items = further_blocks(&plan, store.executed_ms(head.id)?, least_ms, head.settings.seed);
    store.extend_run(head.id, &[], &items)?;
    Ok(items)
}

/// A subject of the run. Fails if it is not saved with the run.
pub(crate) fn subject(head: &RunHead, index: SubjectIndex) -> Result<&Subject, Error> {
    head.subject(index).ok_or_else(|| {
        Error::failed(
            format!("run {} does not say what it measured as {index}", head.id),
            "its database was changed by hand; start a new run",
        )
    })
}

/// Fails if the target lacks workloads or CPUs. `missing`: items that have not ended; `subject`:
/// the subject that it runs.
pub(crate) fn check_resumable(
    head: &RunHead,
    missing: &[PlanItem],
    subject: SubjectIndex,
    target: &dyn Target,
) -> Result<(), Error> {
    check_workloads(head, missing.iter().filter(|item| item.subject == subject), target)?;
    check_cpus(head, target)
}

/// Like [`check_resumable`], for a lens run. Its machines have as many CPUs as there are tasks, and
/// a program is not a workload. Fails if a workload is missing.
pub(crate) fn check_workloads_of_lens(head: &RunHead, missing: &[PlanItem], target: &dyn Target) -> Result<(), Error> {
    match subject(head, SubjectIndex::A)?.what {
        SubjectKind::Program { .. } | SubjectKind::Machine { .. } => Ok(()),
        SubjectKind::Kernel { .. } | SubjectKind::System => check_workloads(head, missing.iter(), target),
    }
}

/// Refuses more tasks than CPUs, unless the run allows it.
fn check_cpus(head: &RunHead, target: &dyn Target) -> Result<(), Error> {
    let (most, usable) = (head.settings.cpus.iter().max(), target.cpus().len());
    let is_asked_for = head.settings.timed().is_some_and(|timed| timed.oversubscribe);
    match most {
        Some(&most) if most as usize > usable && !is_asked_for => Err(Error::failed(
            format!("run {} has up to {most} tasks, more than the {usable} CPUs that can be used now", head.id),
            "resume it where it began, without a narrower CPU affinity",
        )),
        _ => Ok(()),
    }
}

/// Fails if a workload of a missing item does not exist, because an item that cannot start would
/// have ended for good.
fn check_workloads<'a>(
    head: &RunHead,
    missing: impl Iterator<Item = &'a PlanItem>,
    target: &dyn Target,
) -> Result<(), Error> {
    let there = target.workloads()?;
    for item in missing {
        let case = &item.cell.case;
        let info = there.iter().find(|info| info.name == case.workload);
        if info.and_then(|info| info.variant(&case.variant)).is_none_or(|variant| !variant.modes.contains(&case.mode)) {
            return Err(Error::failed(
                format!("run {} needs the workload {case}, which is not here", head.id),
                "`--workloads DIR` names the directory of the workloads with which it began",
            ));
        }
    }
    Ok(())
}
