//! Errors of experiments: one line about the problem, a hint about what to do, and a kind that
//! front ends map to an exit status.

use faultline_record::cell::Cell;
use faultline_record::journal::JournalError;
use faultline_record::outcome::Outcome;
use faultline_record::subject::SubjectIndex;
use faultline_runner::{NoTarget, RequestError};
use faultline_stats::unmatched::Unmatched;
use faultline_store::{StoreError, StoreErrorKind};
use faultline_targets::TargetError;
use std::path::PathBuf;

/// The reason why a request cannot be met.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct Error {
    /// One line for people.
    pub problem: String,
    /// A remedy.
    pub hint: Option<String>,
    /// The kind of failure.
    pub kind: ErrorKind,
    /// Recorded results that explain it. The front end appends their words to the problem.
    pub because: Vec<Because>,
}

/// A recorded result that explains an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Because {
    /// An item that is not compared.
    Unmatched(Unmatched),
    /// An execution of a side that did not succeed.
    Ended {
        /// The executed cell.
        cell: Cell,
        /// The side.
        side: SubjectIndex,
        /// Its outcome.
        outcome: Outcome,
    },
    /// The end of a set-up command.
    SetUp {
        /// Its outcome.
        outcome: Outcome,
    },
}

/// The kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// The database does not exist, cannot be reached or opened, is not ours, or another process
    /// measures into it.
    Unusable,
    /// The saved data give no answer: damaged, saved by another version, or not comparable.
    Unanswerable,
    /// The user has not consented to this `faultline.toml`, or it has changed since.
    Untrusted {
        /// The file.
        file: PathBuf,
    },
    /// Something failed.
    Failed,
    /// The lab failed, for example for want of space, which says nothing about what it measures.
    Lab,
    /// The user stopped it before there was anything to save.
    Stopped,
}

impl Error {
    /// An error of kind [`ErrorKind::Failed`].
    pub fn failed(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Failed, because: Vec::new() }
    }

    /// An error of kind [`ErrorKind::Unanswerable`].
    pub(crate) fn unanswerable(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Unanswerable, ..Self::failed(problem, hint) }
    }

    /// An error of kind [`ErrorKind::Usage`].
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Usage, because: Vec::new() }
    }

    /// Adds recorded results that explain the error.
    pub(crate) fn because(self, because: impl IntoIterator<Item = Because>) -> Self {
        Error { because: because.into_iter().collect(), ..self }
    }

    /// An error of a target that the user named.
    pub(crate) fn target_as_usage(error: TargetError) -> Self {
        Error::usage(error.problem, error.hint)
    }

    /// An error of kind [`ErrorKind::Stopped`].
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
