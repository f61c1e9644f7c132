//! What a PostgreSQL server refused, or why it cannot be reached, as one line for people and a hint.

use super::{StoreError, StoreErrorKind};
use postgres::error::{Error, SqlState};
use std::error::Error as _;
use std::fmt::Display;

/// The attempt to connect failed.
pub(crate) fn not_connected(place: impl Display, error: &Error) -> StoreError {
    let (reason, hint) = match error.code() {
        Some(code) => refusal(code, error).unwrap_or_else(|| (said(error), "check the URL of `--db`")),
        None if said(error).contains("password missing") => ("it asks for a password".to_owned(), PASSWORD),
        None if said(error).contains("invalid peer certificate") => (said(error), CERTIFICATE),
        None if said(error).contains("server does not support TLS") => {
            ("the server does not encrypt".to_owned(), NO_TLS)
        }
        None => {
            (said(error), "check the host and the port, and that the server is running and accepts connections there")
        }
    };
    let problem = format!("cannot connect to the database {place}: {reason}");
    StoreError::new(StoreErrorKind::Unusable, problem, hint)
}

/// `action` failed on an open connection.
pub(super) fn failed(action: &str, place: impl Display, error: &Error) -> StoreError {
    const LOST: &str =
        "everything acknowledged is saved; `faultline resume` continues when the server can be reached again";
    let lost = error.is_closed()
        || error.code().is_none() && error.source().is_some_and(|source| source.is::<std::io::Error>());
    let refused = error.code().and_then(|code| refusal(code, error));
    let kind = match error.code() {
        Some(
            &SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INVALID_SCHEMA_NAME,
        ) => StoreErrorKind::Unusable,
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => StoreErrorKind::Unreadable,
        _ => StoreErrorKind::Failed,
    };
    let (reason, hint) = match refused {
        Some(refused) => refused,
        None if lost || ends_sessions(error.code()) => (format!("the connection was lost ({})", said(error)), LOST),
        None => (said(error), "`--db` names another database"),
    };
    StoreError::new(kind, format!("cannot {action} the database {place}: {reason}"), hint)
}

const CERTIFICATE: &str = "name the authority's certificate by `sslrootcert=FILE` in the URL; the certificate must be for the host that the URL names";

const NO_TLS: &str = "turn on `ssl` there, or use an SSH tunnel (docs/STORE.md); where the network may be trusted, add `?sslmode=disable` to the URL";

const PASSWORD: &str = "give the user's password in PGPASSWORD, in ~/.pgpass, or in the URL; see docs/STORE.md";

/// The reason and the hint for what a server refuses in the ordinary course of things.
fn refusal(code: &SqlState, error: &Error) -> Option<(String, &'static str)> {
    Some(match *code {
        SqlState::INVALID_PASSWORD => ("the user or the password is wrong".to_owned(), PASSWORD),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            (said(error), "the server's pg_hba.conf says who may connect from where; see docs/STORE.md")
        }
        SqlState::INVALID_CATALOG_NAME => {
            ("the server has no database of that name".to_owned(), "`createdb` makes one; see docs/STORE.md")
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            (said(error), "grant this user what it needs, or use another; docs/STORE.md lists the privileges")
        }
        SqlState::INVALID_SCHEMA_NAME => {
            (said(error), "create the schema that the search path names; see docs/STORE.md")
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => (
            "it cannot be written".to_owned(),
            "name the primary server, not a standby; or a session that is not read-only",
        ),
        SqlState::TOO_MANY_CONNECTIONS => {
            (said(error), "try again when other sessions have ended, or raise the server's max_connections")
        }
        SqlState::DISK_FULL => {
            ("the server's disk is full".to_owned(), "free space there; `faultline resume` then continues")
        }
        SqlState::LOCK_NOT_AVAILABLE => {
            ("another session keeps it locked".to_owned(), "wait for the other session to end, or end it")
        }
        SqlState::CANNOT_CONNECT_NOW => (said(error), "try again in a moment"),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            ("the database is damaged".to_owned(), "restore a backup; the server's log says what is damaged")
        }
        _ => return None,
    })
}

/// Whether the server ends the session with that.
fn ends_sessions(code: Option<&SqlState>) -> bool {
    matches!(
        code,
        Some(&SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT)
    )
}

/// What the server said, or what the innermost cause is.
fn said(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
