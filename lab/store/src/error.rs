//! Database errors as one line for people and a hint.

use faultline_model::journal::JournalError;
use faultline_model::record::RunId;
use rusqlite::ErrorCode;
use std::path::Path;

/// The database cannot do what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct StoreError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
    /// What was asked for does not exist; the database itself is in order.
    pub not_there: bool,
}

impl StoreError {
    pub(crate) fn new(problem: String, hint: &str) -> Self {
        StoreError { problem, hint: Some(hint.to_owned()), not_there: false }
    }

    pub(crate) fn no_run(run: RunId, path: &Path) -> Self {
        StoreError {
            problem: format!("there is no run {run} in {}", path.display()),
            hint: Some("`faultline list` shows the runs there are".to_owned()),
            not_there: true,
        }
    }

    pub(crate) fn ambiguous(label: &str, one: &str, other: &str) -> Self {
        StoreError {
            problem: format!("several commits begin with '{label}': {one}, {other}"),
            hint: Some("give more of its letters".to_owned()),
            not_there: true,
        }
    }

    pub(crate) fn no_name(path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("'{}' names no database: {error}", path.display()), "`--db FILE` takes the name of a file")
    }

    pub(crate) fn removed(path: &Path) -> Self {
        Self::new(
            format!("the database {} was removed or replaced under way", path.display()),
            "what was measured since then is lost; begin again with `faultline run`",
        )
    }

    pub(crate) fn no_database(path: &Path) -> Self {
        Self::new(
            format!("there is no database at {}", path.display()),
            "`faultline run` makes one; `--db FILE` names another",
        )
    }

    pub(crate) fn no_directory(directory: &Path, error: &std::io::Error) -> Self {
        Self::new(
            format!("cannot make the directory {} for the database: {error}", directory.display()),
            "`--db FILE` puts the database elsewhere",
        )
    }

    pub(crate) fn from_sqlite(action: &str, path: &Path, error: rusqlite::Error) -> Self {
        let (reason, hint) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                ("the disk is full".to_owned(), "make room there, then `faultline resume` goes on with what is missing")
            }
            Some(ErrorCode::ReadOnly) => {
                ("it can't be written to".to_owned(), "`--db FILE` names a database in a place that can be written")
            }
            Some(ErrorCode::CannotOpen) => (
                "it can't be opened".to_owned(),
                "check that the directory is there and yours to write; `--db FILE` names another",
            ),
            Some(ErrorCode::NotADatabase) => {
                ("the file is not a database".to_owned(), "it was left as it is; `--db FILE` names another")
            }
            Some(ErrorCode::DatabaseCorrupt) => (
                "the database is damaged".to_owned(),
                "it was left as it is; `sqlite3 FILE .recover` saves what can be read; `--db FILE` names another",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ("another process keeps it locked".to_owned(), "wait for the other process to end, or end it")
            }
            Some(ErrorCode::SystemIoFailure) => {
                ("reading or writing failed".to_owned(), "check the disk and its free space, then `faultline resume`")
            }
            _ => (error.to_string(), "`--db FILE` names another database"),
        };
        Self::new(format!("cannot {action} the database {}: {reason}", path.display()), hint)
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        JournalError { problem: error.problem, hint: error.hint }
    }
}
