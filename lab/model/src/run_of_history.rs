//! What the list of runs says of a run that measures commits of a history.

use crate::count::Count;
use serde::{Deserialize, Serialize};

/// What such a run measures, and what it is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOfHistory {
    /// The subject's name.
    pub subject: String,
    /// The workload, or the name of the program's file.
    pub measured: String,
    /// What is counted; `None` if time is measured.
    pub counted: Option<Count>,
    /// Number of commits that the run measures.
    pub commits: u32,
    /// What it is at; `None` of a run that is finished. Nothing is saved of whether somebody works at it: a run that was stopped begins there again.
    pub stage: Option<HistoryStage>,
}

/// What a run is at, as far as what is saved says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum HistoryStage {
    /// A commit is built.
    Build {
        /// Its full name.
        commit: String,
        /// Its place among the commits that the run measures, from 1.
        number: u32,
    },
    /// Builds are linked in random layouts.
    Link,
    /// The kernel of the next execution is installed or booted.
    Boot,
    /// Commits are executed.
    Measure,
}
