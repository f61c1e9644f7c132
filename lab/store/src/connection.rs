//! The connection to a database. The rest of the crate uses it alone, so statements are written once for every kind of database.
//!
//! What is spelled differently is chosen by [`Connection::spelled`]. Parameters of a statement are `?1`, `?2`, …. Columns are integers, real numbers and text; a yes or no is the integer 1 or 0.

mod failure;
mod nul;
mod postgres;
mod row;
mod sqlite;
mod value;

pub(crate) use failure::{Failure, Result};
pub(crate) use postgres::Session;
pub(crate) use row::{Row, from_json, from_word};
pub(crate) use value::Value;

/// The values of a statement's parameters, in the order of their numbers.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::connection::Value::from($value)),*] as &[$crate::connection::Value<'_>] };
}
pub(crate) use params;

/// A connection to a database.
#[derive(Debug)]
pub(crate) enum Connection {
    /// SQLite's file.
    Sqlite(rusqlite::Connection),
    /// A session with a PostgreSQL server.
    Postgres(Box<Session>),
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// All its queries read the same state of the database.
    Read,
    /// Its changes are saved together, or not at all.
    Write,
}

impl Connection {
    /// The spelling of a part of a statement that both kinds of database do not share.
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

    /// Executes a statement, and returns the number of rows that it changed.
    pub(crate) fn execute(&self, statement: &str, parameters: &[Value<'_>]) -> Result<usize> {
        match self {
            Connection::Sqlite(connection) => sqlite::execute(connection, statement, parameters),
            Connection::Postgres(session) => session.execute(statement, parameters),
        }
    }

    /// Takes the rows of a query one after the other, so they need not be in memory together. Stops, and fails, if the query or `take` fails. `take` must
    /// not use this connection.
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

    /// The only row of a query; `None` if it has none. Fails like [`Connection::rows`].
    pub(crate) fn optional_row<T>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(query, parameters, read)?.pop())
    }

    /// The row of a query that always has one. Fails like [`Connection::rows`].
    pub(crate) fn row<T>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.optional_row(query, parameters, read)?.ok_or(Failure::NoRow)
    }

    /// Begins a transaction. Until it ends, all statements of this connection belong to it.
    pub(crate) fn begin(&self, purpose: Purpose) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => sqlite::begin(connection, purpose),
            Connection::Postgres(session) => session.begin(purpose),
        }
    }

    /// Saves what the transaction changed.
    pub(crate) fn commit(&self) -> Result<()> {
        match self {
            Connection::Sqlite(connection) => sqlite::run(connection, "COMMIT"),
            Connection::Postgres(session) => session.end("COMMIT"),
        }
    }

    /// Whether a transaction has begun.
    pub(crate) fn is_in_transaction(&self) -> bool {
        match self {
            Connection::Sqlite(connection) => !connection.is_autocommit(),
            Connection::Postgres(session) => session.is_in_transaction(),
        }
    }

    /// Runs `body` in a transaction. If it fails, nothing is changed.
    pub(crate) fn transaction<T>(&self, purpose: Purpose, body: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let transaction = self.open_transaction(purpose)?;
        let value = body(self)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Begins a transaction that is undone when the value is dropped, unless it is committed before.
    pub(crate) fn open_transaction(&self, purpose: Purpose) -> Result<Transaction<'_>> {
        self.begin(purpose)?;
        Ok(Transaction(self))
    }

    /// Runs `body`, in which no statement waits for another connection. A statement that would have to wait fails.
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

/// A transaction that is undone, unless it is committed: also by a failure or a panic.
pub(crate) struct Transaction<'a>(&'a Connection);

impl Transaction<'_> {
    /// Saves what the transaction changed.
    pub(crate) fn commit(self) -> Result<()> {
        self.0.commit()
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.0.is_in_transaction() {
            // A connection that cannot do so is lost, and the transaction with it.
            let _ = self.0.roll_back();
        }
    }
}
