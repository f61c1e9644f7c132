//! Why an experiment is impossible: one line that says what, a hint that says what to do, and a kind that a front end maps to an exit status.

use faultline_model::cell::Cell;
use faultline_model::journal::JournalError;
use faultline_model::outcome::Outcome;
use faultline_model::subject::SubjectIndex;
use faultline_model::unmatched::Unmatched;
use faultline_runner::{NoTarget, RequestError};
use faultline_store::{StoreError, StoreErrorKind};
use faultline_targets::TargetError;

/// Why a request cannot be met.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct Error {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// Recorded results that explain it. The front end adds their words to the problem.
    pub because: Vec<Because>,
}

/// A recorded result that explains an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Because {
    /// This is not compared.
    Unmatched(Unmatched),
    /// This execution of a side did not succeed.
    Ended {
        /// What was executed.
        cell: Cell,
        /// The side.
        side: SubjectIndex,
        /// How it ended.
        outcome: Outcome,
    },
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// The database cannot be used: it does not exist, cannot be reached or opened, or is none of ours.
    Unusable,
    /// What is saved gives no answer: it is damaged, another version saved it, or it cannot be compared.
    Unanswerable,
    /// Something failed.
    Failed,
    /// The user stopped it before there was anything to save.
    Stopped,
}

impl Error {
    /// Something failed.
    pub fn failed(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Failed, because: Vec::new() }
    }

    /// What is saved gives no answer.
    pub(crate) fn unanswerable(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Unanswerable, ..Self::failed(problem, hint) }
    }

    /// The request is invalid.
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Usage, because: Vec::new() }
    }

    /// The same, explained by recorded results.
    pub(crate) fn because(self, because: impl IntoIterator<Item = Because>) -> Self {
        Error { because: because.into_iter().collect(), ..self }
    }

    /// An error of a target that the user named.
    pub(crate) fn target_as_usage(error: TargetError) -> Self {
        Error::usage(error.problem, error.hint)
    }

    /// The user stopped it before there was anything to save.
    pub fn stopped() -> Self {
        Error { problem: "stopped".to_owned(), hint: None, kind: ErrorKind::Stopped, because: Vec::new() }
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        Error::usage(error.problem, error.hint)
    }
}

impl From<NoTarget> for Error {
    fn from(error: NoTarget) -> Self {
        Error::failed(error.to_string(), "its database was changed by hand; start a new run")
    }
}

impl From<TargetError> for Error {
    fn from(error: TargetError) -> Self {
        Error::failed(error.problem, error.hint)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::NoSuchRun => ErrorKind::Usage,
            StoreErrorKind::Unusable => ErrorKind::Unusable,
            StoreErrorKind::Unreadable => ErrorKind::Unanswerable,
            StoreErrorKind::Failed => ErrorKind::Failed,
        };
        Error { problem: error.problem, hint: error.hint, kind, because: Vec::new() }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Error { problem: error.problem, hint: error.hint, kind: ErrorKind::Failed, because: Vec::new() }
    }
}
