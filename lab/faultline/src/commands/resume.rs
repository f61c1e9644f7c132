//! `faultline resume`: goes on with what is missing of a run.

use super::measure;
use crate::arguments::Resume;
use crate::failure::{self, Failure};
use crate::places;
use faultline_model::record::{RunId, RunState};
use faultline_store::MeasuringLock;
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
    if store.load_run(run)?.state == RunState::Finished {
        failure::warn(&format!("run {run} is finished already"));
        return measure::conclude(&store, run, conduct);
    }
    let host = places::host(conduct.place.workloads.as_deref(), conduct.scratch.as_deref())?;
    store.resume_run(run, &measure::session(&host))?;
    measure::measure(&mut store, run, &host, conduct)
}
