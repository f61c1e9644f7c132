//! Where a runner saves what it sees, at once: the interface between `runner` and whatever keeps the samples.

use crate::lens::reading::Reading;
use crate::outcome::Outcome;
use crate::protocol::Event;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// Names an attempt within a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(pub i64);

/// A figure could not be saved. The run has to stop: samples that are not saved are lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct JournalError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

/// Saves attempts and what they print. A call that has returned `Ok` has saved: the process may be killed the moment after.
/// Only what follows [`Event::End`], the dozens of counters of an attempt that is all but over, is saved together with its
/// outcome.
pub trait Journal {
    /// Opens an attempt at the plan's item `ordinal`.
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError>;

    /// Saves one event of the attempt.
    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError>;

    /// Saves what the lens counted in the attempt; at most once, and before the attempt is closed.
    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError>;

    /// Closes the attempt. Only one attempt of an item may ever be closed with a final outcome.
    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError>;
}
