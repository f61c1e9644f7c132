//! The executions of stored runs: some of their lines, and a range of the samples of one.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::execution::{ExecutionLine, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::record::RunId;

/// Up to `most` executions of a run, in the order in which they began: those after `after`, or the first ones. Fails if there is no such run, or if the database
/// cannot be read.
pub fn executions(
    run: RunId,
    after: Option<AttemptId>,
    most: u32,
    places: &Places,
) -> Result<Vec<ExecutionLine>, Error> {
    let store = database::existing(places)?;
    let lines = store.list_executions(run, after, most)?;
    if lines.is_empty() {
        store.load_head(run)?;
    }
    Ok(lines)
}

/// A range of the samples of an execution. Fails if the run has no such execution, or if the database cannot be read.
pub fn samples(run: RunId, execution: AttemptId, range: &SampleRange, places: &Places) -> Result<Samples, Error> {
    let samples = database::existing(places)?.load_samples(run, execution, range)?;
    samples.ok_or_else(|| {
        Error::usage(
            format!("run {run} has no execution {}", execution.0),
            "the list of the run's executions has their numbers",
        )
    })
}
