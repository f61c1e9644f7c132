//! A cell: one workload in one variant at one number of tasks. Cells are planned, repeated and
//! summarised.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kind of task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
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

/// A workload's variant and its kind of task: the content of one scaling curve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Case {
    /// The workload's name, as its program is called.
    pub workload: String,
    /// The variant's name.
    pub variant: String,
    /// Kind of task.
    pub mode: TaskMode,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.workload, self.variant)
    }
}

/// One point of a curve: a case at a number of tasks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Cell {
    /// The case that runs.
    #[serde(flatten)]
    pub case: Case,
    /// Number of concurrent tasks; at least 1.
    pub tasks: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.case, self.tasks)
    }
}
