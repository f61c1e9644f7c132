//! Resumes a run.

use crate::comparison;
use crate::conclusion::{Conclusion, Measured};
use crate::database::{self, MeasuringStore};
use crate::error::Error;
use crate::lab::Lab;
use crate::observer::Notice;
use crate::partners::{Planned, check_joined};
use crate::places::Places;
use crate::{lens, measure, resumable};
use faultline_model::plan::RunKind;
use faultline_model::record::{RunHead, RunId, RunState};
use faultline_model::subject::SubjectIndex;
use faultline_store::Store;
use std::num::NonZeroUsize;

/// Which run to resume, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResumeRequest {
    /// The run; the newest that is not finished if `None`.
    pub run: Option<RunId>,
    /// Time limit of each execution in milliseconds, instead of the run's own.
    pub limit_ms: Option<u64>,
    /// How many executions of a lens run may run at the same time; as many as this host has room for if `None`.
    pub jobs: Option<NonZeroUsize>,
}

/// The run that a request means. Fails if there is none, or if the database cannot be read.
pub fn run_to_resume(request: &ResumeRequest, places: &Places) -> Result<RunHead, Error> {
    meant(request, &database::existing(places)?)
}

fn meant(request: &ResumeRequest, store: &Store) -> Result<RunHead, Error> {
    let every_run_is_finished =
        || Error::failed("every run is finished", "`faultline run` begins another; `faultline list` shows them");
    let run = match request.run {
        Some(run) => run,
        None => store.newest_open_run()?.ok_or_else(every_run_is_finished)?,
    };
    Ok(store.load_head(run)?)
}

/// Resumes a run and concludes it. A finished run is only concluded, and its gates are applied. Fails if there is no such run, if its machine, workloads or settings are not
/// available, or if the database cannot be written.
pub fn resume(request: &ResumeRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let mut database = MeasuringStore::open_existing(lab.places)?;
    let store = &mut database.store;
    let head = meant(request, store)?;
    let run = head.id;
    if head.state == RunState::Finished {
        lab.observer.notice(&Notice::FinishedAlready { run });
        let mut conclusion = Conclusion::of(store, run)?;
        if let RunKind::Lens(settings) = &head.settings.kind {
            conclusion.gates = lens::hold_again(store, run, settings, lab.places)?;
        }
        return Ok(Measured::Concluded(Box::new(conclusion)));
    }
    match &head.settings.kind {
        RunKind::Lens(settings) => lens::go_on(store, &head, settings, request.jobs, request.limit_ms, lab),
        RunKind::Comparison(_) => {
            lab.put_back_leftovers()?;
            comparison::go_on(store, &head, request.limit_ms, lab)
        }
        RunKind::Drill(_) | RunKind::History(_) => Err(Error::usage(
            format!("run {run} measures commits, which takes their builds"),
            format!("`faultline resume {run}` continues it"),
        )),
        RunKind::Timed(_) => {
            lab.put_back_leftovers()?;
            timed(store, &head, request.limit_ms, lab)
        }
    }
}

/// Resumes a plain run.
fn timed(store: &mut Store, head: &RunHead, limit_ms: Option<u64>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let run = head.id;
    let subject = resumable::subject(head, SubjectIndex::A)?;
    check_joined(&subject.machine, subject.setup.partners.values(), lab)?;
    let ready = lab.machines.ready(&subject.machine, lab.places, lab.stop)?;
    let target = ready.target.as_ref();
    let missing = store.missing_items(run)?;
    resumable::check(head, &missing, SubjectIndex::A, target)?;
    let planned = Planned { items: &missing, subject: SubjectIndex::A, workloads: &head.workloads };
    let partners = planned.prepare(&subject.machine, &mut subject.setup.clone(), lab)?;
    store.resume_run(run, &measure::session(&[target], lab.clock))?;
    let ended = measure::to_the_end(store, run, &partners.beside(target), limit_ms, None, lab)?;
    Measured::of(&ended, store, run)
}
