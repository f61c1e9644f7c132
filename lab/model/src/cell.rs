//! A cell: one workload in one variant at one number of tasks. The unit that is planned, repeated and summarised.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum TaskMode {
    /// A process with its own address space.
    Process,
    /// A thread of one process that all tasks share.
    Thread,
}

impl TaskMode {
    /// The word used in files and arguments: `process` or `thread`.
    pub fn word(self) -> &'static str {
        match self {
            TaskMode::Process => "process",
            TaskMode::Thread => "thread",
        }
    }

    /// The mode for a word of [`TaskMode::word`].
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "process" => Some(TaskMode::Process),
            "thread" => Some(TaskMode::Thread),
            _ => None,
        }
    }
}

/// A workload's variant and what its tasks are: what one scaling curve shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Case {
    /// The workload's name, as its program is called.
    pub workload: String,
    /// The variant's name.
    pub variant: String,
    /// What a task is.
    pub mode: TaskMode,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.workload, self.variant)
    }
}

/// One point of a curve: a case at a number of tasks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Cell {
    /// What runs.
    #[serde(flatten)]
    pub case: Case,
    /// How many tasks at once; at least 1.
    pub tasks: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.case, self.tasks)
    }
}
