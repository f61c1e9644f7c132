//! What a database answers if it cannot do something. `StoreError` says it to people.

use std::fmt::Display;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The PostgreSQL server refused, or the connection was lost.
    #[error(transparent)]
    Postgres(#[from] postgres::Error),
    /// This version cannot read a saved value.
    #[error("column {column}: {problem}")]
    Unreadable {
        /// The column of the query's result, from 0.
        column: usize,
        /// What is wrong with its value.
        problem: String,
    },
    /// A query that always has a row had none.
    #[error("a row is missing")]
    NoRow,
}

/// The result of a statement.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// This version cannot read the value of a column.
    pub(crate) fn unreadable(column: usize, problem: impl Display) -> Self {
        Failure::Unreadable { column, problem: problem.to_string() }
    }
}
