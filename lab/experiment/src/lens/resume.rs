//! Resumes a lens run: creates the machine and its subject again from what was saved, and refuses if they have
//! changed.

use super::request::Gates;
use super::saved_file::found_again;
use super::{gates, kernel, model, program, program_in_guest, run};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::{measure, resumable};
use faultline_model::lens::settings::{LensAgain, LensSettings};
use faultline_model::record::{RunHead, RunId};
use faultline_model::subject::{SubjectIndex, SubjectKind};
use faultline_runner::lens::Naming;
use faultline_store::Store;
use faultline_targets::Target;

/// Counts what is missing of a run, concludes it, and applies its gates. `limit_ms`: time limit of each execution instead of
/// the run's own. Fails if the subject, plugin or machine is missing or has changed, or if the database cannot be written.
pub(crate) fn go_on(
    store: &mut Store,
    head: &RunHead,
    settings: &LensSettings,
    limit_ms: Option<u64>,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let run = head.id;
    let again = settings.again.as_deref().ok_or_else(|| {
        Error::usage(
            format!("run {run} cannot be resumed, because an older version of Faultline began it"),
            format!("its counts are kept (`faultline show {run}`); start a new run for the rest"),
        )
    })?;
    let gates = gates_of(settings, again, run)?;
    let baseline = gates::baseline(&gates, lab.places)?;
    let (target, naming) = counting(head, settings, again, lab)?;
    resumable::check_workloads_of_lens(head, &store.missing_items(run)?, target.as_ref())?;
    if lab.stop.is_set() {
        return Err(Error::stopped());
    }
    store.resume_run(run, &measure::session(&[target.as_ref()], lab.clock))?;
    run::to_the_gates(store, run, target.as_ref(), &naming, limit_ms, (&gates, baseline.as_ref()), lab)
}

/// The counting target with names, as it was when the run began.
fn counting(
    head: &RunHead,
    settings: &LensSettings,
    again: &LensAgain,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let run = head.id;
    let plugin = found_again(&again.plugin, "the plugin", run)?;
    let model = model::again(settings, again);
    let subject = resumable::subject(head, SubjectIndex::A)?;
    match (&subject.what, subject.machine.guest()) {
        (SubjectKind::Program { argv }, Some(guest)) => {
            program_in_guest::again(argv, guest, &head.settings.cpus, again, model, plugin, run, lab)
        }
        (SubjectKind::Program { argv }, None) => program::again(argv, again, model, plugin, run, lab),
        (SubjectKind::Kernel { .. }, Some(guest)) => {
            kernel::again(&guest.parameters, &head.settings.cpus, again, model, plugin, run, lab)
        }
        _ => Err(Error::failed(
            format!("run {run} does not say which program or kernel it counted"),
            "its database was changed by hand; start a new run",
        )),
    }
}

/// The gates of the run. Fails if a budget cannot be read, or if the baseline does not exist.
fn gates_of(settings: &LensSettings, again: &LensAgain, run: RunId) -> Result<Gates, Error> {
    let unreadable = |text: &str| {
        Error::failed(
            format!("the budget '{text}' of run {run} can't be read"),
            "resume it with the version of faultline that began it",
        )
    };
    let budgets = settings.budgets.iter().map(|text| text.parse().map_err(|_| unreadable(text)));
    Ok(Gates { budgets: budgets.collect::<Result<_, _>>()?, baseline: again.baseline.map(RunId) })
}
