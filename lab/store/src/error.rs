//! Database errors as one line for people and a hint.

mod server;

pub(crate) use server::not_connected;

use crate::connection::Failure;
use faultline_model::journal::JournalError;
use faultline_model::record::RunId;
use rusqlite::ErrorCode;
use std::fmt::Display;
use std::path::Path;

/// The database cannot do what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct StoreError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Option<String>,
    /// The kind of failure.
    pub kind: StoreErrorKind,
}

/// The kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The named run does not exist, or its name is ambiguous. The database itself is in order.
    NoSuchRun,
    /// The named file does not exist, may not be used, or is not a database of this version of Faultline.
    Unusable,
    /// What is saved cannot be read: a newer version of Faultline saved it, or it is damaged.
    Unreadable,
    /// Something failed.
    Failed,
}

impl StoreError {
    pub(crate) fn new(kind: StoreErrorKind, problem: String, hint: &str) -> Self {
        StoreError { problem, hint: Some(hint.to_owned()), kind }
    }

    pub(crate) fn failed(problem: String, hint: &str) -> Self {
        Self::new(StoreErrorKind::Failed, problem, hint)
    }

    pub(crate) fn unusable(problem: String, hint: &str) -> Self {
        Self::new(StoreErrorKind::Unusable, problem, hint)
    }

    pub(crate) fn no_run(run: RunId, place: impl Display) -> Self {
        Self::new(
            StoreErrorKind::NoSuchRun,
            format!("there is no run {run} in {place}"),
            "`faultline list` shows all runs",
        )
    }

    pub(crate) fn ambiguous(label: &str, one: &str, other: &str) -> Self {
        Self::new(
            StoreErrorKind::NoSuchRun,
            format!("several commits begin with '{label}': {one}, {other}"),
            "give more digits",
        )
    }

    pub(crate) fn no_name(path: &Path, error: &std::io::Error) -> Self {
        Self::unusable(
            format!("'{}' is not a database: {error}", path.display()),
            "`--db FILE` takes the name of a file",
        )
    }

    pub(crate) fn run_is_measured(run: RunId, who: &str) -> Self {
        Self::failed(
            format!("another process measures run {run}: {who}"),
            "wait for it to end, or end it; `faultline list` shows all runs",
        )
    }

    pub(crate) fn not_empty(place: impl Display) -> Self {
        Self::unusable(
            format!("{place} is not empty, so nothing was copied"),
            "a copy needs a new file, or a database or schema of its own (docs/STORE.md)",
        )
    }

    pub(crate) fn removed(place: impl Display) -> Self {
        Self::failed(
            format!("the database {place} was removed or replaced during the run"),
            "everything measured since then is lost; start again with `faultline run`",
        )
    }

    pub(crate) fn no_database(place: impl Display) -> Self {
        Self::unusable(
            format!("there is no database at {place}"),
            "`faultline run` makes one; `--db FILE` names another",
        )
    }

    pub(crate) fn not_writable(path: &Path) -> Self {
        Self::of_code("write", path, rusqlite::ffi::SQLITE_READONLY)
    }

    pub(crate) fn no_new_file(path: &Path) -> Self {
        Self::of_code("open", path, rusqlite::ffi::SQLITE_CANTOPEN)
    }

    /// What SQLite would say.
    fn of_code(action: &str, path: &Path, code: std::ffi::c_int) -> Self {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        Self::from_sqlite(action, path.display(), &error)
    }

    pub(crate) fn no_directory(directory: &Path, error: &std::io::Error) -> Self {
        Self::unusable(
            format!("cannot make the directory {} for the database: {error}", directory.display()),
            "`--db FILE` names another place",
        )
    }

    pub(crate) fn from_failure(action: &str, place: impl Display, failure: Failure) -> Self {
        match failure {
            Failure::Sqlite(error) => Self::from_sqlite(action, place, &error),
            Failure::Postgres(error) => server::failed(action, place, &error),
            Failure::Unreadable { .. } | Failure::NoRow => Self::new(
                StoreErrorKind::Unreadable,
                format!("cannot {action} the database {place}: {failure}"),
                "a newer version of Faultline saved it, or the database was changed by hand; `--db FILE` names another",
            ),
        }
    }

    pub(crate) fn from_sqlite(action: &str, place: impl Display, error: &rusqlite::Error) -> Self {
        use StoreErrorKind::{Failed, Unreadable, Unusable};
        let code = error.sqlite_error_code();
        let kind = match code {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::NotADatabase) => Unusable,
            Some(ErrorCode::DatabaseCorrupt) => Unreadable,
            _ => Failed,
        };
        let (reason, hint) = match code {
            Some(ErrorCode::DiskFull) => {
                ("the disk is full".to_owned(), "free space there; `faultline resume` then continues")
            }
            Some(ErrorCode::ReadOnly) => {
                ("it cannot be written".to_owned(), "`--db FILE` names a database in a place that can be written")
            }
            Some(ErrorCode::CannotOpen) => (
                "the file or its directory is missing, or you may not use it".to_owned(),
                "check that the directory exists and that you may write it; `--db FILE` names another",
            ),
            Some(ErrorCode::NotADatabase) => {
                ("the file is not a database".to_owned(), "the file was not changed; `--db FILE` names another")
            }
            Some(ErrorCode::DatabaseCorrupt) => (
                "the database is damaged".to_owned(),
                "the file was not changed; `sqlite3 FILE .recover` recovers what is readable; `--db FILE` names another",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ("another process keeps it locked".to_owned(), "wait for the other process to end, or end it")
            }
            Some(ErrorCode::SystemIoFailure) => {
                ("reading or writing failed".to_owned(), "check the disk and its free space, then `faultline resume`")
            }
            _ => (error.to_string(), "`--db FILE` names another database"),
        };
        Self::new(kind, format!("cannot {action} the database {place}: {reason}"), hint)
    }
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        JournalError { problem: error.problem, hint: error.hint }
    }
}
