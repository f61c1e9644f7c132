//! The interface between `runner` and the store. A runner saves all observations through it at
//! once.

use crate::lens::reading::Reading;
use crate::outcome::Outcome;
use crate::protocol::Event;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Identifies a run within a store; shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identifies an attempt within a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AttemptId(pub i64);

/// Error: a figure could not be saved. The run must stop, because unsaved samples are lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct JournalError {
    /// One line for people.
    pub problem: String,
    /// Advice for the user.
    pub hint: Option<String>,
}

/// Saves attempts and their output. When a call returns `Ok`, the data are saved, even if the
/// process is killed immediately afterwards. Exception: data after [`Event::End`] (dozens of
/// counters of an attempt that is almost over) are saved together with the attempt's outcome. Every
/// call fails if the data could not be saved.
pub trait Journal {
    /// Starts an attempt at the plan's item `ordinal`.
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError>;

    /// Saves one event of the attempt.
    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError>;

    /// Saves the lens's counts of the attempt. Call at most once, before the attempt is closed.
    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError>;

    /// Saves the last console output of the machine that was booted for the attempt. Call at most
    /// once, before the attempt is closed.
    fn record_console(&mut self, attempt: AttemptId, console: &str) -> Result<(), JournalError>;

    /// Closes the attempt. Only one attempt of an item may be closed with a final outcome.
    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError>;
}
