//! The executions of stored runs: some of their lines; a range of the samples of one, and its console.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::execution::{ExecutionLine, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::outcome::Outcome;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use faultline_store::Store;

/// The executions in a database that is open.
pub struct StoredExecutions(Store);

impl StoredExecutions {
    /// Fails if there is no database, or if it cannot be read.
    pub fn open(places: &Places) -> Result<Self, Error> {
        Ok(StoredExecutions(database::existing(places)?))
    }

    /// Up to `most` executions of a run, or of one of its subjects, in the order in which they began: those after `after`, or the first ones. Fails if there is no such run, or if the
    /// database cannot be read.
    pub fn lines(
        &self,
        run: RunId,
        after: Option<AttemptId>,
        subject: Option<SubjectIndex>,
        most: u32,
    ) -> Result<Vec<ExecutionLine>, Error> {
        let lines = self.0.list_executions(run, after, subject, most)?;
        if lines.is_empty() {
            self.0.load_head(run)?;
        }
        Ok(lines)
    }

    /// One execution of a run. Fails if the run has no such execution, or if the database cannot be read.
    pub fn line(&self, run: RunId, execution: AttemptId) -> Result<ExecutionLine, Error> {
        let before = AttemptId(execution.0.saturating_sub(1));
        let found = self.lines(run, Some(before), None, 1)?;
        found.into_iter().find(|line| line.id == execution).ok_or_else(|| missing(run, execution))
    }

    /// The last output of the console of the machine that was booted for an execution; `None` if none was, or if it printed nothing. Fails if the database cannot be read.
    pub fn console(&self, run: RunId, line: &ExecutionLine) -> Result<Option<String>, Error> {
        if let Some(Outcome::GuestFailed { console, .. }) = &line.outcome {
            return Ok(Some(console.clone()).filter(|text| !text.is_empty()));
        }
        Ok(self.0.load_console(run, line.id)?)
    }

    /// A range of the samples of an execution. Fails if the run has no such execution, or if the database cannot be read.
    pub fn samples(&self, run: RunId, execution: AttemptId, range: &SampleRange) -> Result<Samples, Error> {
        self.0.load_samples(run, execution, range)?.ok_or_else(|| missing(run, execution))
    }
}

fn missing(run: RunId, execution: AttemptId) -> Error {
    Error::usage(
        format!("run {run} has no execution {}", execution.0),
        "the list of the run's executions has their numbers",
    )
}
