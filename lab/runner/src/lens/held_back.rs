//! Keeps back the end of an attempt's output, while other attempts are saved.
//!
//! What follows [`Event::End`] is saved in one transaction with the attempt's outcome (see [`Journal`]). So it is recorded
//! only when the attempt is closed, and nothing of another attempt gets into that transaction.

use faultline_model::journal::{AttemptId, Journal, JournalError};
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::Outcome;
use faultline_model::protocol::Event;
use faultline_model::time::UnixMillis;

/// What one attempt has said from [`Event::End`] on.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<Event>);

impl Tail {
    /// Saves it. Fails if the journal cannot save.
    pub(super) fn record(self, attempt: AttemptId, journal: &mut dyn Journal) -> Result<(), JournalError> {
        self.0.iter().try_for_each(|event| journal.record(attempt, event))
    }
}

/// A journal for one attempt, which keeps back its tail.
pub(super) struct HoldsBack<'a> {
    pub(super) journal: &'a mut dyn Journal,
    pub(super) tail: &'a mut Tail,
}

impl Journal for HoldsBack<'_> {
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError> {
        self.journal.begin_attempt(ordinal, started)
    }

    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError> {
        if self.tail.0.is_empty() && !matches!(event, Event::End(_)) {
            return self.journal.record(attempt, event);
        }
        self.tail.0.push(event.clone());
        Ok(())
    }

    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError> {
        self.journal.record_reading(attempt, reading)
    }

    fn record_console(&mut self, attempt: AttemptId, console: &str) -> Result<(), JournalError> {
        self.journal.record_console(attempt, console)
    }

    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError> {
        self.journal.end_attempt(attempt, outcome, ended)
    }
}
