//! Connections to a database of either kind. The rest of the crate uses only these, and writes each
//! statement once.
//!
//! [`Connection::spelled`] chooses between two spellings. Statement parameters are `?1`, `?2`, ….
//! Columns are integers, real numbers and text; booleans are the integers 1 and 0.

mod postgres;
mod sqlite;
mod value;

pub(crate) use postgres::Session;
pub(crate) use value::{Row, Value, from_bounded_json, from_json, from_word, json};

use faultline_record::journal::AttemptId;
use faultline_record::record::RunId;
use std::fmt::Display;

/// The values of a statement's parameters, in the order of their numbers.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::connection::Value::from($value)),*] as &[$crate::connection::Value<'_>] };
}
pub(crate) use params;

/// A connection to a database.
#[derive(Debug)]
pub(crate) enum Connection {
    /// An SQLite file.
    Sqlite(rusqlite::Connection),
    /// A session with a PostgreSQL server.
    Postgres(Box<Session>),
}

/// Purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// All queries read the same state of the database.
    Read,
    /// Either all changes are saved, or none.
    Write,
}

impl Connection {
    /// The part of a statement that is spelled differently by each kind of database.
    pub(crate) fn spelled(&self, in_sqlite: &'static str, in_postgres: &'static str) -> &'static str {
        match self {
            Connection::Sqlite(_) => in_sqlite,
            Connection::Postgres(_) => in_postgres,
        }
    }

    /// Executes statements without parameters, separated by semicolons.
    pub(crate) fn run_statements(&self, statements: &str) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(statements)?),
            Connection::Postgres(session) => session.run(statements),
        }
    }

    /// Executes a statement and returns the number of rows changed.
    pub(crate) fn execute(&self, statement: &str, parameters: &[Value<'_>]) -> Result<usize> {
        match self {
            Connection::Sqlite(connection) => sqlite::execute(connection, statement, parameters),
            Connection::Postgres(session) => session.execute(statement, parameters),
        }
    }

    /// Passes the rows of a query to `take` one at a time, without keeping them in memory. Stops
    /// and fails if the query or `take` fails. `take` must not use this connection.
    pub(crate) fn each_row<E: From<Failure>>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        take: impl FnMut(&Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Connection::Sqlite(connection) => sqlite::each_row(connection, query, parameters, take),
            Connection::Postgres(session) => session.each_row(query, parameters, take),
        }
    }

    /// All rows of a query. Fails if the query or `read` fails.
    pub(crate) fn rows<T>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.each_row(query, parameters, |row| {
            all.push(read(row)?);
            Ok::<(), Failure>(())
        })?;
        Ok(all)
    }

    /// The only row of a query; `None` if there is none. Fails like [`Connection::rows`].
    pub(crate) fn optional_row<T>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(query, parameters, read)?.pop())
    }

    /// The row of a query that always returns one. Fails like [`Connection::rows`].
    pub(crate) fn row<T>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.optional_row(query, parameters, read)?.ok_or(Failure::NoRow)
    }

    /// Begins a transaction, to which all statements of this connection belong until it ends.
    pub(crate) fn begin(&self, purpose: Purpose) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => sqlite::begin(connection, purpose),
            Connection::Postgres(session) => session.begin(purpose),
        }
    }

    /// Saves the changes of the transaction.
    pub(crate) fn commit(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => sqlite::run(connection, "COMMIT"),
            Connection::Postgres(session) => session.end("COMMIT"),
        }
    }

    /// True within a transaction.
    pub(crate) fn is_in_transaction(&self) -> bool {
        match self {
            Connection::Sqlite(connection) => !connection.is_autocommit(),
            Connection::Postgres(session) => session.is_in_transaction(),
        }
    }

    /// Runs `body` in a transaction. If `body` fails, nothing is changed.
    pub(crate) fn transaction<T>(&self, purpose: Purpose, body: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let transaction = self.open_transaction(purpose)?;
        let value = body(self)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Begins a transaction that is rolled back when the value is dropped without a commit.
    pub(crate) fn open_transaction(&self, purpose: Purpose) -> Result<Transaction<'_>> {
        self.begin(purpose)?;
        Ok(Transaction(self))
    }

    /// Runs `body` without waiting for other connections. A statement that would have to wait
    /// fails.
    pub(crate) fn without_waiting<T>(&self, body: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self {
            Connection::Sqlite(connection) => sqlite::without_waiting(connection, || body(self)),
            Connection::Postgres(session) => self.transaction(Purpose::Write, |transaction| {
                session.run("SET LOCAL lock_timeout = '1ms'")?;
                body(transaction)
            }),
        }
    }

    fn roll_back(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => sqlite::run(connection, "ROLLBACK"),
            Connection::Postgres(session) => session.end("ROLLBACK"),
        }
    }
}

/// A transaction that is rolled back unless it is committed, also after a failure or a panic.
pub(crate) struct Transaction<'a>(&'a Connection);

impl Transaction<'_> {
    /// Saves the changes of the transaction.
    pub(crate) fn commit(self) -> Result<()> {
        self.0.commit()
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.0.is_in_transaction() {
            // If this fails, the connection is lost, and the transaction with it.
            let _ = self.0.roll_back();
        }
    }
}

/// Reason why a statement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Refused by SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Refused by the PostgreSQL server, or the connection was lost.
    #[error(transparent)]
    Postgres(#[from] ::postgres::Error),
    /// A saved value that this version cannot read.
    #[error("column {column}: {problem}")]
    Unreadable {
        /// Column of the query's result, from 0.
        column: usize,
        /// The fault of its value.
        problem: String,
    },
    /// An execution that does not match its checksum.
    #[error("execution {0} of run {run} does not match its checksum", .execution.0)]
    Damaged {
        /// Its run.
        run: RunId,
        /// The execution.
        execution: AttemptId,
    },
    /// No row from a query that always returns one.
    #[error("a row is missing")]
    NoRow,
}

/// The result of a statement.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Failure to read the value of a column.
    pub(crate) fn unreadable(column: usize, problem: impl Display) -> Self {
        Failure::Unreadable { column, problem: problem.to_string() }
    }
}
