//! `faultline resume`: goes on with what is missing of a run.

use super::compare::live;
use super::measure;
use crate::arguments::{OnMachine, Resume};
use crate::failure::{self, Failure};
use crate::places;
use faultline_model::record::{RunId, RunRecord, RunState};
use faultline_model::subject::SubjectIndex;
use faultline_store::MeasuringLock;
use faultline_targets::Target;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn resume(arguments: &Resume, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let mut store = places::existing_store(db)?;
    let _lock = MeasuringLock::take(store.path())?;
    let run = match arguments.run {
        Some(id) => RunId(id),
        None => store.newest_open_run()?.ok_or_else(|| {
            Failure::new("every run is finished", "`faultline run` begins another; `faultline list` shows them")
        })?,
    };
    let record = store.load_run(run)?;
    if record.state == RunState::Finished {
        failure::warn(&format!("run {run} is finished already"));
        return measure::conclude(&store, run, conduct);
    }
    if record.settings.lens().is_some() {
        return Err(Failure::usage(
            format!("run {run} counted under the lens, and such runs are not resumed"),
            "what it counted is kept (`faultline show`); run the rest anew with fewer numbers of CPUs or workloads",
        ));
    }
    if record.settings.comparison().is_some() {
        return live::resume(store, &record, conduct);
    }
    let stop = measure::stop_on_signals()?;
    measure::put_back_leftovers()?;
    let machine = OnMachine { on: record.subject(SubjectIndex::A).map(|subject| subject.machine.clone()) };
    let place = places::place(&machine, &conduct.place, conduct.scratch.as_deref(), &stop)?;
    let target = place.target.as_ref();
    check(&record, SubjectIndex::A, target)?;
    store.resume_run(run, &measure::session(&[target]))?;
    measure::measure(&mut store, run, target, conduct, &stop, None)
}

/// What `run` would refuse is not done on a resume either. `subject`: whose items are to run on this target.
pub(super) fn check(record: &RunRecord, subject: SubjectIndex, target: &dyn Target) -> Result<(), Failure> {
    check_workloads(record, subject, target)?;
    check_cpus(record, target)
}

/// More tasks than CPUs are not run unless it was asked for.
fn check_cpus(record: &RunRecord, target: &dyn Target) -> Result<(), Failure> {
    let is_asked_for = record.settings.timed().is_some_and(|timed| timed.oversubscribe);
    let (most, usable) = (record.settings.cpus.iter().max(), target.cpus().len());
    match most {
        Some(&most) if most as usize > usable && !is_asked_for => Err(Failure::new(
            format!("run {} has up to {most} tasks, more than the {usable} CPUs that can be used now", record.id),
            "resume it where it began, without a narrower CPU affinity",
        )),
        _ => Ok(()),
    }
}

/// Every workload that is still to run has to be there: an item that could not be started would have ended for good.
fn check_workloads(record: &RunRecord, subject: SubjectIndex, target: &dyn Target) -> Result<(), Failure> {
    let there = target.workloads()?;
    for item in measure::missing(record).iter().filter(|item| item.subject == subject) {
        let case = &item.cell.case;
        let info = there.iter().find(|info| info.name == case.workload);
        if info.and_then(|info| info.variant(&case.variant)).is_none_or(|variant| !variant.modes.contains(&case.mode)) {
            return Err(Failure::new(
                format!("run {} needs the workload {case}, which is not here", record.id),
                "`--workloads DIR` says where the workloads are that it began with",
            ));
        }
    }
    Ok(())
}
