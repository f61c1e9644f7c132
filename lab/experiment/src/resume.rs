//! Resumes a run.

use crate::conclusion::{Conclusion, Measured};
use crate::database::{self, MeasuringStore};
use crate::error::Error;
use crate::lab::{Lab, Notice};
use crate::places::Places;
use crate::{comparison, lens, run};
use faultline_record::record::{RunHead, RunId, RunState};
use faultline_store::Store;
use std::num::NonZeroUsize;

/// The request to resume a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResumeRequest {
    /// The run; the newest unfinished one if `None`.
    pub run: Option<RunId>,
    /// Time limit of each execution in milliseconds, instead of the run's own.
    pub limit_ms: Option<u64>,
    /// Maximum number of parallel executions of a lens run; as many as fit on this host if `None`.
    pub jobs: Option<NonZeroUsize>,
}

/// The requested run. Fails if there is none, or if the database cannot be read.
pub fn run_to_resume(request: &ResumeRequest, places: &Places) -> Result<RunHead, Error> {
    meant(request, &database::existing(places)?)
}

fn meant(request: &ResumeRequest, store: &Store) -> Result<RunHead, Error> {
    let every_run_is_finished =
        || Error::usage("every run is finished", "`faultline run` begins another; `faultline list` shows them");
    let run = match request.run {
        Some(run) => run,
        None => match store.newest_open_run()? {
            Some(run) => run,
            // Held by another session, perhaps a lost one: resuming it says which.
            None => store.newest_unfinished_run()?.ok_or_else(every_run_is_finished)?,
        },
    };
    Ok(store.load_head(run)?)
}

/// Resumes a run and concludes it. A finished run is only concluded, and its gates are applied.
/// Fails if the run does not exist, if its machine, workloads or settings are not available, or if
/// the database cannot be written.
pub fn resume(request: &ResumeRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let mut database = MeasuringStore::open_existing(lab.places)?;
    let store = &mut database.store;
    let head = meant(request, store)?;
    let run = head.id;
    if head.state == RunState::Finished {
        lab.observer.notice(&Notice::FinishedAlready { run });
        let mut conclusion = Conclusion::of(store, run)?;
        if let Some(settings) = head.settings.lens() {
            conclusion.gates = lens::hold_again(store, run, settings, lab.places)?;
        }
        return Ok(Measured::Concluded(Box::new(conclusion)));
    }
    let settings = &head.settings;
    if settings.measured_line().is_some() {
        return Err(Error::usage(
            format!("run {run} measures commits, which needs their builds"),
            format!("`faultline resume {run}` continues it"),
        ));
    }
    if let Some(lens) = settings.lens() {
        return lens::go_on(store, &head, lens, request.jobs, request.limit_ms, lab);
    }
    lab.put_back_leftovers()?;
    match settings.comparison() {
        Some(_) => comparison::go_on(store, &head, request.limit_ms, lab),
        None => run::go_on(store, &head, request.limit_ms, lab),
    }
}
