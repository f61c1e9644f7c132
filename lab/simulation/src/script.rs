//! The output of one execution, how long each line takes, and how it ends.

use faultline_model::outcome::Outcome;
use faultline_model::protocol::Interval;
use faultline_targets::Ending;
use std::time::Duration;

/// One line of output.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The output, without its line end.
    pub(crate) text: Vec<u8>,
    /// Time that passes before it.
    pub(crate) takes: Duration,
    /// The interval that it holds, of the warm-up or of the window.
    pub(crate) interval: Option<Interval>,
}

impl Line {
    /// A line that comes at once.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Line { text: text.into().into_bytes(), takes: Duration::ZERO, interval: None }
    }
}

/// An execution from its first line to its end.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// How it ends after them.
    pub(crate) ending: Ending,
    /// It does not end by itself after the lines.
    pub(crate) hangs: bool,
    /// What must be recorded of it, unless it is stopped or killed.
    pub(crate) expected: Expected,
}

/// The outcome that must be recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// This one.
    Exactly(Outcome),
    /// Unreadable output, from this line on; the text of the outcome may be anything.
    Rubbish {
        /// From 1; 0 if no line is wrong.
        line: u64,
    },
}

impl Expected {
    /// Whether `outcome` is what was expected.
    pub(crate) fn is_met_by(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Expected::Exactly(expected), outcome) => expected == outcome,
            (Expected::Rubbish { line }, Outcome::Rubbish { line: told, .. }) => line == told,
            (Expected::Rubbish { .. }, _) => false,
        }
    }
}
