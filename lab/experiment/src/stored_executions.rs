//! The executions of stored runs: some of their lines; a range of the samples of one, and its console.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::execution::{ExecutionLine, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::outcome::Outcome;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;

/// Up to `most` executions of a run, or of one of its subjects, in the order in which they began: those after `after`, or the first ones. Fails if there is no such run, or if the database
/// cannot be read.
pub fn executions(
    run: RunId,
    after: Option<AttemptId>,
    subject: Option<SubjectIndex>,
    most: u32,
    places: &Places,
) -> Result<Vec<ExecutionLine>, Error> {
    let store = database::existing(places)?;
    let lines = store.list_executions(run, after, subject, most)?;
    if lines.is_empty() {
        store.load_head(run)?;
    }
    Ok(lines)
}

/// One execution of a run. Fails if the run has no such execution, or if the database cannot be read.
pub fn execution(run: RunId, execution: AttemptId, places: &Places) -> Result<ExecutionLine, Error> {
    let before = AttemptId(execution.0.saturating_sub(1));
    let found = executions(run, Some(before), None, 1, places)?;
    found.into_iter().find(|line| line.id == execution).ok_or_else(|| missing(run, execution))
}

fn missing(run: RunId, execution: AttemptId) -> Error {
    Error::usage(
        format!("run {run} has no execution {}", execution.0),
        "the list of the run's executions has their numbers",
    )
}

/// The last output of the console of the machine that was booted for an execution; `None` if none was, or if it printed nothing. Fails if the run has no such
/// execution, or if the database cannot be read.
pub fn console(run: RunId, execution: AttemptId, places: &Places) -> Result<Option<String>, Error> {
    let line = self::execution(run, execution, places)?;
    if let Some(Outcome::GuestFailed { console, .. }) = line.outcome {
        return Ok(Some(console).filter(|text| !text.is_empty()));
    }
    Ok(database::existing(places)?.load_console(run, execution)?)
}

/// A range of the samples of an execution. Fails if the run has no such execution, or if the database cannot be read.
pub fn samples(run: RunId, execution: AttemptId, range: &SampleRange, places: &Places) -> Result<Samples, Error> {
    let samples = database::existing(places)?.load_samples(run, execution, range)?;
    samples.ok_or_else(|| missing(run, execution))
}
