//! Whether a run can be resumed here. A resume refuses everything that a new run would refuse.

use crate::error::Error;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunHead;
use faultline_model::subject::{Subject, SubjectIndex, SubjectKind};
use faultline_targets::Target;

/// A subject of the run. Fails if it is not saved with the run.
pub(crate) fn subject(head: &RunHead, index: SubjectIndex) -> Result<&Subject, Error> {
    head.subject(index).ok_or_else(|| {
        Error::failed(
            format!("run {} does not say what it measured as {index}", head.id),
            "its database was changed by hand; start a new run",
        )
    })
}

/// Fails if the target lacks a workload or CPUs that are missing. `missing`: the run's items that have not ended; `subject`: whose items run on it.
pub(crate) fn check(
    head: &RunHead,
    missing: &[PlanItem],
    subject: SubjectIndex,
    target: &dyn Target,
) -> Result<(), Error> {
    check_workloads(head, missing.iter().filter(|item| item.subject == subject), target)?;
    check_cpus(head, target)
}

/// Like [`check`], for a lens run. Its machines have as many CPUs as there are tasks, and a program is not a workload. Fails if a workload is missing.
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

/// Every workload that is still to be run must exist, because an item that could not be started would have ended for good.
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
