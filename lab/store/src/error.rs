//! Database errors: one line and a hint, for failures of SQLite, of a PostgreSQL server, and of the
//! request.

use crate::connection::Failure;
use faultline_record::journal::JournalError;
use faultline_record::record::RunId;
use postgres::error::SqlState;
use rusqlite::ErrorCode;
use std::error::Error as _;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

/// A failed request to a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct StoreError {
    /// The problem, in one line.
    pub problem: String,
    /// A possible remedy.
    pub hint: Option<String>,
    /// The kind of failure.
    pub kind: StoreErrorKind,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The named run does not exist, or its name is ambiguous.
    NoSuchRun,
    /// The database does not exist, may not be used, has another schema, or another process
    /// measures into it.
    Unusable,
    /// Saved data cannot be read: it is damaged, or another version of Faultline saved it.
    Unreadable,
    /// Any other failure.
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
        Self::unusable(
            format!("another process is measuring run {run}: {who}"),
            "wait until it ends, or stop it; `faultline list` shows all runs",
        )
    }

    pub(crate) fn not_empty(place: impl Display) -> Self {
        Self::unusable(
            format!("{place} is not empty, so nothing was copied"),
            "copy into a new file, or into an empty database or schema (docs/STORE.md)",
        )
    }

    pub(crate) fn removed(place: impl Display) -> Self {
        Self::failed(
            format!("the database {place} was removed or replaced during the run"),
            "everything measured since then is lost; start a new run with `faultline run`",
        )
    }

    pub(crate) fn no_database(place: impl Display) -> Self {
        Self::unusable(
            format!("there is no database at {place}"),
            "`faultline run` creates one; `--db FILE` names another",
        )
    }

    pub(crate) fn no_file(path: &Path) -> Self {
        Self::unusable(
            format!("{} is no regular file, so it cannot be a database", path.display()),
            "`--db FILE` takes the name of a file",
        )
    }

    pub(crate) fn not_writable(path: &Path) -> Self {
        Self::of_code("write", path, rusqlite::ffi::SQLITE_READONLY)
    }

    /// The file at `path` cannot be created.
    pub(crate) fn no_new_file(path: &Path, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free space there; `--db FILE` names another database",
            ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only; `--db FILE` names another database",
            _ => return Self::of_code("open", path, rusqlite::ffi::SQLITE_CANTOPEN),
        };
        Self::unusable(format!("cannot create the database {}: {error}", path.display()), hint)
    }

    /// The newest part of an existing database cannot be read where nothing can be written.
    pub(crate) fn no_log(path: &Path) -> Self {
        let name = path.display();
        Self::unusable(
            format!(
                "cannot read the database {name}: its newest data are in {name}-wal, and the directory cannot be written"
            ),
            "copy both files to another directory, and name the copy with `--db FILE`",
        )
    }

    /// The error that SQLite would return.
    fn of_code(action: &str, path: &Path, code: std::ffi::c_int) -> Self {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        Self::from_sqlite(action, path.display(), &error)
    }

    pub(crate) fn no_directory(directory: &Path, error: &std::io::Error) -> Self {
        Self::unusable(
            format!("cannot create the directory {} for the database: {error}", directory.display()),
            "`--db FILE` names another file",
        )
    }

    pub(crate) fn from_failure(action: &str, place: impl Display, failure: Failure) -> Self {
        match failure {
            Failure::Sqlite(error) => Self::from_sqlite(action, place, &error),
            Failure::Postgres(error) => failed_on_server(action, place, &error),
            Failure::Damaged { .. } => Self::new(
                StoreErrorKind::Unreadable,
                format!("the database {place} is damaged: {failure}"),
                "nothing was changed; `faultline store check` lists all damaged executions; restore a copy, or delete the run",
            ),
            Failure::Unreadable { .. } | Failure::NoRow => Self::new(
                StoreErrorKind::Unreadable,
                format!("cannot {action} the database {place}: {failure}"),
                "another version of Faultline saved it, or the database was changed by hand; `--db FILE` names another",
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
            Some(ErrorCode::DiskFull) => ("the disk is full".to_owned(), after_full_disk(action)),
            Some(ErrorCode::ReadOnly) => ("it cannot be written".to_owned(), "`--db FILE` names another database"),
            Some(ErrorCode::CannotOpen) => (
                "the file or its directory does not exist, or you may not access it".to_owned(),
                "check that the directory exists and is writable; `--db FILE` names another database",
            ),
            Some(ErrorCode::NotADatabase) => (
                "the file is not a database".to_owned(),
                "the file was not changed; `--db FILE` names another database",
            ),
            Some(ErrorCode::DatabaseCorrupt) => (
                "the database is damaged".to_owned(),
                "the file was not changed; `sqlite3 FILE .recover` recovers readable data; `--db FILE` names another database",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ("another process keeps it locked".to_owned(), "wait until that process ends, or stop it")
            }
            Some(ErrorCode::SystemIoFailure) => {
                ("reading or writing failed".to_owned(), "check the disk and its free space, then repeat the command")
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

/// Failure to connect to a PostgreSQL server.
pub(crate) fn not_connected(place: impl Display, error: &postgres::Error) -> StoreError {
    let (reason, hint) = match error.code() {
        Some(code) => refusal("connect to", code, error).unwrap_or_else(|| (message(error), "check the URL of `--db`")),
        None if message(error).contains("password missing") => ("the server asks for a password".to_owned(), PASSWORD),
        None if message(error).contains("invalid peer certificate") => (message(error), CERTIFICATE),
        None if message(error).contains("server does not support TLS") => {
            ("the server does not encrypt".to_owned(), NO_TLS)
        }
        None => (message(error), "check host and port, and that the server is running and accepts connections there"),
    };
    let problem = format!("cannot connect to the database {place}: {reason}");
    StoreError::new(StoreErrorKind::Unusable, problem, hint)
}

/// Failure of `action` on an open connection to a server.
fn failed_on_server(action: &str, place: impl Display, error: &postgres::Error) -> StoreError {
    const LOST: &str = "everything acknowledged is saved; `faultline resume` continues once the server can be reached";
    let lost = error.is_closed()
        || error.code().is_none() && error.source().is_some_and(|source| source.is::<std::io::Error>());
    let refused = error.code().and_then(|code| refusal(action, code, error));
    let kind = match error.code() {
        Some(
            &SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INVALID_SCHEMA_NAME,
        ) => StoreErrorKind::Unusable,
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => StoreErrorKind::Unreadable,
        _ => StoreErrorKind::Failed,
    };
    let (reason, hint) = match refused {
        Some(refused) => refused,
        None if lost || ends_sessions(error.code()) => (format!("the connection was lost ({})", message(error)), LOST),
        None => (message(error), "`--db` names another database"),
    };
    StoreError::new(kind, format!("cannot {action} the database {place}: {reason}"), hint)
}

const CERTIFICATE: &str = "set `sslrootcert=FILE` in the URL to the authority's certificate; the server's certificate must be for the URL's host";

const NO_TLS: &str = "turn on `ssl` on the server, or use an SSH tunnel (docs/STORE.md); on a trusted network, add `?sslmode=disable` to the URL";

const PASSWORD: &str = "set the user's password in PGPASSWORD, in ~/.pgpass, or in the URL (docs/STORE.md)";

/// Hint for `action` after a full disk: only a run is continued.
fn after_full_disk(action: &str) -> &'static str {
    let is_of_run = ["save a sample", "save the run", "save the session"].iter().any(|part| action.starts_with(part));
    match is_of_run {
        true => "free space there; `faultline resume` then continues",
        false => "nothing was saved; free space there and repeat the command, or name another database",
    }
}

/// Reason and hint for a server's usual refusals of `action`.
fn refusal(action: &str, code: &SqlState, error: &postgres::Error) -> Option<(String, &'static str)> {
    Some(match *code {
        SqlState::INVALID_PASSWORD => ("the user or the password is wrong".to_owned(), PASSWORD),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            (message(error), "allow the user and this host in the server's pg_hba.conf (docs/STORE.md)")
        }
        SqlState::INVALID_CATALOG_NAME => {
            ("the server has no database of that name".to_owned(), "`createdb` creates one (docs/STORE.md)")
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            (message(error), "grant this user the missing privilege (docs/STORE.md lists them), or use another user")
        }
        SqlState::INVALID_SCHEMA_NAME => {
            (message(error), "create the schema that the search path names (docs/STORE.md)")
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => (
            "it cannot be written".to_owned(),
            "name the primary server instead of a standby, or a session that is not read-only",
        ),
        SqlState::TOO_MANY_CONNECTIONS => {
            (message(error), "try again when other sessions have ended, or raise `max_connections` on the server")
        }
        SqlState::DISK_FULL => ("the server's disk is full".to_owned(), after_full_disk(action)),
        SqlState::LOCK_NOT_AVAILABLE => {
            ("another session keeps it locked".to_owned(), "wait until that session ends, or stop it")
        }
        SqlState::CANNOT_CONNECT_NOW => (message(error), "try again in a moment"),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            ("the database is damaged".to_owned(), "restore a backup; the server's log names the damage")
        }
        _ => return None,
    })
}

/// True if the server ends the session with this code.
fn ends_sessions(code: Option<&SqlState>) -> bool {
    matches!(
        code,
        Some(&SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT)
    )
}

/// The server's message, or the innermost cause.
fn message(error: &postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
