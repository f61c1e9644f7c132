//! Work on a history that somebody asked for on a page or by the API, for a machine that measures to do.

use crate::named_change::{ChangePlace, SeriesName};
use crate::record::RunId;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Identifies a job within a store; shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum JobWork {
    /// A commit is measured once more.
    Measure {
        /// Its full name.
        commit: String,
    },
    /// The commits of a change are searched for the one that made it.
    Drill {
        /// The change, as it was when somebody asked.
        place: ChangePlace,
    },
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Nobody does it yet.
    Waiting,
    /// A machine does it.
    Taken,
    /// It was done.
    Done,
    /// It could not be done.
    Failed,
    /// Somebody withdrew it before a machine took it.
    Withdrawn,
}

impl JobState {
    const ALL: [JobState; 5] =
        [JobState::Waiting, JobState::Taken, JobState::Done, JobState::Failed, JobState::Withdrawn];

    /// Its word, in every output and in the store.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Taken => "taken",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Withdrawn => "withdrawn",
        }
    }

    /// The state of a word; `None` if there is none.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// Work that somebody asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// The series of results that it is about.
    pub series: SeriesName,
    /// What is to be done.
    pub work: JobWork,
    /// Who asked for it. The name comes from outside: it may hold any character.
    pub asked_by: String,
    /// When.
    pub asked: UnixMillis,
    /// How far it is.
    pub state: JobState,
    /// The name of the machine that took it.
    pub worker: Option<String>,
    /// When it came to this state.
    pub since: UnixMillis,
    /// The run that did it.
    pub run: Option<RunId>,
    /// Of one that failed, why.
    pub problem: Option<String>,
}
