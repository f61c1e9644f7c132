//! Why an experiment is impossible: one line that says what, a hint that says what to do, and a kind that a front end maps to an exit status.

use faultline_model::journal::JournalError;
use faultline_runner::{NoTarget, RequestError};
use faultline_store::{StoreError, StoreErrorKind};
use faultline_targets::TargetError;

/// Why a request cannot be met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Error {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
    /// The kind of failure.
    pub kind: ErrorKind,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// Something failed.
    Failed,
    /// The user stopped it before there was anything to save.
    Stopped,
}

impl Error {
    /// Something failed.
    pub fn failed(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Failed }
    }

    /// The request is invalid.
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error { problem: problem.into(), hint: Some(hint.into()), kind: ErrorKind::Usage }
    }

    /// An error of a target that the user named.
    pub(crate) fn target_as_usage(error: TargetError) -> Self {
        Error::usage(error.problem, error.hint)
    }

    /// The user stopped it before there was anything to save.
    pub fn stopped() -> Self {
        Error { problem: "stopped".to_owned(), hint: None, kind: ErrorKind::Stopped }
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
            StoreErrorKind::NoSuchRun | StoreErrorKind::Unusable => ErrorKind::Usage,
            StoreErrorKind::Failed => ErrorKind::Failed,
        };
        Error { problem: error.problem, hint: error.hint, kind }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Error { problem: error.problem, hint: error.hint, kind: ErrorKind::Failed }
    }
}
