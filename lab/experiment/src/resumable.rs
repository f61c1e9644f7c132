//! Whether a run can go on here: what a new run would refuse is not done on a resume either.

use crate::error::Error;
use crate::measure;
use faultline_model::record::RunRecord;
use faultline_model::subject::{Subject, SubjectIndex, SubjectKind};
use faultline_targets::Target;

/// A subject of the run, which has to be saved with it.
pub(crate) fn subject(record: &RunRecord, index: SubjectIndex) -> Result<&Subject, Error> {
    record.subject(index).ok_or_else(|| {
        Error::failed(
            format!("run {} does not say what it measured as {index}", record.id),
            "its database was changed by hand; begin another run",
        )
    })
}

/// Checks that the target has what is missing. `subject`: whose items are to run on it.
pub(crate) fn check(record: &RunRecord, subject: SubjectIndex, target: &dyn Target) -> Result<(), Error> {
    check_workloads(record, subject, target)?;
    check_cpus(record, target)
}

/// The same as [`check`] of a run under the lens, whose machines have as many CPUs as there are tasks; a program is no workload.
pub(crate) fn check_workloads_of_lens(record: &RunRecord, target: &dyn Target) -> Result<(), Error> {
    match subject(record, SubjectIndex::A)?.what {
        SubjectKind::Program { .. } => Ok(()),
        SubjectKind::Kernel { .. } | SubjectKind::System => check_workloads(record, SubjectIndex::A, target),
    }
}

/// More tasks than CPUs are not run unless it was asked for.
fn check_cpus(record: &RunRecord, target: &dyn Target) -> Result<(), Error> {
    let (most, usable) = (record.settings.cpus.iter().max(), target.cpus().len());
    let is_asked_for = record.settings.timed().is_some_and(|timed| timed.oversubscribe);
    match most {
        Some(&most) if most as usize > usable && !is_asked_for => Err(Error::failed(
            format!("run {} has up to {most} tasks, more than the {usable} CPUs that can be used now", record.id),
            "resume it where it began, without a narrower CPU affinity",
        )),
        _ => Ok(()),
    }
}

/// Every workload that is still to run has to be there: an item that could not be started would have ended for good.
fn check_workloads(record: &RunRecord, subject: SubjectIndex, target: &dyn Target) -> Result<(), Error> {
    let there = target.workloads()?;
    for item in measure::missing(record).iter().filter(|item| item.subject == subject) {
        let case = &item.cell.case;
        let info = there.iter().find(|info| info.name == case.workload);
        if info.and_then(|info| info.variant(&case.variant)).is_none_or(|variant| !variant.modes.contains(&case.mode)) {
            return Err(Error::failed(
                format!("run {} needs the workload {case}, which is not here", record.id),
                "`--workloads DIR` says where the workloads are that it began with",
            ));
        }
    }
    Ok(())
}
