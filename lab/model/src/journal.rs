//! Where a runner saves at once what it observes: the interface between `runner` and the store.

use crate::lens::reading::Reading;
use crate::outcome::Outcome;
use crate::protocol::Event;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// Identifies an attempt within a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(pub i64);

/// A figure could not be saved. The run must stop, because samples that are not saved are lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct JournalError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

/// Saves attempts and their output. When a call returns `Ok`, the data are saved, even if the process is killed immediately afterwards.
/// There is one exception: what follows [`Event::End`], dozens of counters of an attempt that is almost over, is saved together with its
/// outcome. Every call fails if the data could not be saved.
pub trait Journal {
    /// Starts an attempt at the plan's item `ordinal`.
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError>;

    /// Saves one event of the attempt.
    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError>;

    /// Saves what the lens counted in the attempt; at most once, and before the attempt is closed.
    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError>;

    /// Saves the last output of the console of the machine that was booted for the attempt; at most once, and before the attempt is closed.
    fn record_console(&mut self, attempt: AttemptId, console: &str) -> Result<(), JournalError>;

    /// Closes the attempt. Only one attempt of an item may be closed with a final outcome.
    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError>;
}
