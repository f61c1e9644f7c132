//! Work on a history, requested on a page or through the API, for a measuring machine to do.

use crate::named_change::{ChangePlace, SeriesName};
use crate::record::RunId;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Identifies a job within a store; shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum JobWork {
    /// Measure a commit again.
    Measure {
        /// The commit's full name.
        commit: String,
    },
    /// Search the commits of a change for the one that made it.
    Bisect {
        /// The change, as it was at the time of the request.
        place: ChangePlace,
    },
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Not taken by a machine yet.
    Waiting,
    /// In progress on a machine.
    Taken,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Withdrawn before a machine took it.
    Withdrawn,
}

impl JobState {
    const ALL: [JobState; 5] =
        [JobState::Waiting, JobState::Taken, JobState::Done, JobState::Failed, JobState::Withdrawn];

    /// The state's word, in every output and in the store.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Taken => "taken",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Withdrawn => "withdrawn",
        }
    }

    /// The state with that word; `None` for an unknown word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// Requested work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// The job's number.
    pub id: JobId,
    /// The series of results that the job is about.
    pub series: SeriesName,
    /// The work to do.
    pub work: JobWork,
    /// Name of the person who requested the job. It comes from outside: it may hold any character.
    pub asked_by: String,
    /// Time of the request.
    pub asked: UnixMillis,
    /// State of the job.
    pub state: JobState,
    /// Name of the machine that took the job.
    pub worker: Option<String>,
    /// Start of the current state.
    pub since: UnixMillis,
    /// The run that did the work.
    pub run: Option<RunId>,
    /// For a failed job: the reason.
    pub problem: Option<String>,
}
