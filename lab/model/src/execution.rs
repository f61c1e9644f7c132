//! An execution of a run on its own: a line that describes it, and a range of its samples. For those who look at one without loading the run.

use crate::cell::Cell;
use crate::journal::AttemptId;
use crate::outcome::Outcome;
use crate::protocol::{Interval, Measure};
use crate::subject::SubjectIndex;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// An attempt at a planned item, without what it printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionLine {
    /// The attempt's id in the store.
    pub id: AttemptId,
    /// The item's ordinal in the plan.
    pub ordinal: u32,
    /// The item's block: its repeat.
    pub block: u32,
    /// Which subject of the run was executed.
    pub subject: SubjectIndex,
    /// What was executed, at which number of tasks.
    pub cell: Cell,
    /// When it began.
    pub started: UnixMillis,
    /// How it ended; `None` while it is running, or if it was killed with the run.
    pub outcome: Option<Outcome>,
}

/// The two parts of an execution in which operations are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the region of interest.
    Warmup,
    /// The region of interest.
    Window,
}

impl Phase {
    /// Both.
    pub const ALL: [Phase; 2] = [Phase::Warmup, Phase::Window];

    /// The word for it in addresses, JSON and the database.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Window => "window",
        }
    }
}

/// Consecutive intervals of one phase of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRange {
    /// The phase.
    pub phase: Phase,
    /// Number of the first interval, from 0.
    pub from: u32,
    /// Maximum number of intervals.
    pub most: u32,
}

/// A range of an execution's samples, as they were saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Number of all intervals of the phase.
    pub total: u32,
    /// Number of the first interval of the range, from 0.
    pub from: u32,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// Figures of the execution that are not rates. All of them, whatever the range is.
    pub measures: Vec<Measure>,
}
