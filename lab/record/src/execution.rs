//! One execution of a run, for readers that do not load the run: a line that describes it, and a
//! range of its samples.

use crate::cell::Cell;
use crate::journal::AttemptId;
use crate::outcome::Outcome;
use crate::protocol::{Interval, Measure};
use crate::subject::SubjectIndex;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An attempt at a planned item, without its output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionLine {
    /// The attempt's id in the store.
    pub id: AttemptId,
    /// The item's ordinal in the plan.
    pub ordinal: u32,
    /// The item's block: its repeat.
    pub block: u32,
    /// The executed subject, by its place in the run.
    pub subject: SubjectIndex,
    /// The executed workload, and its number of tasks.
    pub cell: Cell,
    /// Start of the attempt.
    pub started: UnixMillis,
    /// The outcome; `None` while the attempt is running, or if it was killed with the run.
    pub outcome: Option<Outcome>,
}

/// A phase of an execution in which operations are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the region of interest.
    Warmup,
    /// The region of interest.
    Window,
}

impl Phase {
    /// Both phases.
    pub const ALL: [Phase; 2] = [Phase::Warmup, Phase::Window];

    /// The phase's word in addresses, JSON and the database.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Number of all intervals of the phase.
    pub total: u32,
    /// Number of the first interval of the range, from 0.
    pub from: u32,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// Figures of the execution that are not rates. All of them are included, for any range.
    pub measures: Vec<Measure>,
}
