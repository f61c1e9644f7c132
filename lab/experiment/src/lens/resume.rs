//! Resumes a lens run: creates its machine and subject again, and refuses changed ones.

use super::request::Gates;
use super::run::ToTheGates;
use super::{files, gates, kernel, machine, model, program};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::measure;
use crate::places::Places;
use faultline_record::lens::settings::{LensAgain, LensSettings};
use faultline_record::record::{RunHead, RunId};
use faultline_record::subject::{SubjectIndex, SubjectKind};
use faultline_runner::lens::Naming;
use faultline_stats::lens::gate::GateReport;
use faultline_store::Store;
use faultline_targets::Target;
use faultline_targets::counting::Lens;
use faultline_targets::qemu::EMULATOR_VERSION;
use std::num::NonZeroUsize;

/// Executes the missing items of a run, concludes it, and applies its gates. `jobs`, `limit_ms`: as
/// in [`crate::ResumeRequest`]. Fails if the subject, plugin or machine is missing or changed, or
/// if the database cannot be written.
pub(crate) fn go_on(
    store: &mut Store,
    head: &RunHead,
    settings: &LensSettings,
    jobs: Option<NonZeroUsize>,
    limit_ms: Option<u64>,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let run = head.id;
    let again = &settings.again;
    check_emulator(head, lab)?;
    let gates = gates_of(settings);
    let baseline = gates::baseline(&gates, lab.places)?;
    let (target, naming) = counting(head, settings, again, lab)?;
    measure::check_workloads_of_lens(head, &store.missing_items(run)?, target.as_ref())?;
    if lab.stop.is_set() {
        return Err(Error::stopped());
    }
    store.resume_run(run, &measure::session(&[target.as_ref()], lab.clock))?;
    let counting = ToTheGates {
        target: target.as_ref(),
        naming: &naming,
        jobs,
        limit_ms,
        gates: &gates,
        baseline: baseline.as_ref(),
    };
    counting.run(store, run, lab)
}

/// Fails if the emulator differs from the one that the run recorded.
pub(super) fn check_emulator(head: &RunHead, lab: &Lab<'_>) -> Result<(), Error> {
    match head.all_facts().find_map(|facts| facts.get_text(EMULATOR_VERSION)) {
        Some(began_with) => is_same_emulator(began_with, &lab.machines.lens_emulator(lab.places)?, head.id),
        None => Ok(()),
    }
}

/// Fails if the versions differ: another version may count differently.
fn is_same_emulator(began_with: &str, this: &str, run: RunId) -> Result<(), Error> {
    if began_with == this {
        return Ok(());
    }
    Err(Error::failed(
        format!("run {run} began with {began_with}, and this is {this}, so counts before and after are not comparable"),
        format!(
            "`--qemu FILE` names the emulator with which it began; or start a new run: the counts of run {run} are kept"
        ),
    ))
}

/// The counting target with names, as at the run's begin.
fn counting(
    head: &RunHead,
    settings: &LensSettings,
    again: &LensAgain,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let run = head.id;
    let subject = measure::subject(head, SubjectIndex::A)?;
    let plugin = files::plugin_again(&again.plugin, run)?;
    let lens = Lens { plugin, model: model::again(settings, again), scratch: lab.places.scratch.clone() };
    let cpus = &head.settings.cpus;
    match (&subject.what, subject.machine.guest()) {
        (SubjectKind::Program { argv }, Some(guest)) => program::again(argv, guest, cpus, again, lens, run, lab),
        (SubjectKind::Kernel { .. }, Some(guest)) => kernel::again(&guest.parameters, cpus, again, lens, run, lab),
        (SubjectKind::Machine { .. }, Some(guest)) => machine::again(guest, cpus, again, lens, run, lab),
        _ => Err(Error::failed(
            format!("run {run} does not say which program or kernel it counted"),
            "its database was changed by hand; start a new run",
        )),
    }
}

/// The reports of a finished run's gates. A budget of a type without counts is dropped, because the
/// kernel's types are not saved. Fails if the database cannot be read, or if the baseline does not
/// exist any more.
pub(crate) fn hold_again(
    store: &Store,
    run: RunId,
    settings: &LensSettings,
    places: &Places,
) -> Result<Vec<GateReport>, Error> {
    let gates = gates_of(settings);
    if gates.budgets.is_empty() && gates.baseline.is_none() {
        return Ok(Vec::new());
    }
    let baseline = gates::baseline(&gates, places)?;
    Ok(gates::reports(&gates, baseline.as_ref(), &store.load_run(run)?))
}

/// The gates of the run.
fn gates_of(settings: &LensSettings) -> Gates {
    Gates { budgets: settings.budgets.clone(), baseline: settings.again.baseline.map(RunId) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_emulator_is_refused() {
        let (old, new) = ("QEMU emulator version 10.0.2", "QEMU emulator version 11.1.3");
        assert!(is_same_emulator(old, old, RunId(3)).is_ok());
        let refused = is_same_emulator(old, new, RunId(3)).unwrap_err();
        assert!(refused.problem.starts_with(&format!("run 3 began with {old}, and this is {new}")), "{refused:?}");
        assert!(refused.hint.unwrap().contains("--qemu FILE"));
    }
}
