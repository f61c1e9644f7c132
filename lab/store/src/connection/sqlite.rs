//! Statements, rows, transactions and values of SQLite.

use super::value::{Columns, Row, Value};
use super::{Failure, Purpose, Result};
use crate::BUSY_TIMEOUT;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::time::Duration;

pub(super) fn execute(connection: &Connection, statement: &str, parameters: &[Value<'_>]) -> Result<usize> {
    Ok(connection.prepare_cached(statement)?.execute(params_from_iter(parameters))?)
}

pub(super) fn each_row<E: From<Failure>>(
    connection: &Connection,
    query: &str,
    parameters: &[Value<'_>],
    mut take: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = connection.prepare_cached(query).map_err(Failure::from)?;
    let mut rows = statement.query(params_from_iter(parameters)).map_err(Failure::from)?;
    while let Some(row) = rows.next().map_err(Failure::from)? {
        take(&Row(row))?;
    }
    Ok(())
}

impl Columns for rusqlite::Row<'_> {
    fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(match self.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => {
                Value::Text(std::str::from_utf8(text).map_err(|error| Failure::unreadable(column, error))?.into())
            }
            ValueRef::Blob(_) => return Err(Failure::unreadable(column, "a blob")),
        })
    }
}

/// Begins a transaction. A writing transaction takes its lock at once: one that reads first can
/// fail when it writes.
pub(super) fn begin(connection: &Connection, purpose: Purpose) -> Result<()> {
    run(connection, if purpose == Purpose::Write { "BEGIN IMMEDIATE" } else { "BEGIN" })
}

/// Executes a statement without parameters or rows, such as `COMMIT`.
pub(super) fn run(connection: &Connection, statement: &str) -> Result<()> {
    execute(connection, statement, &[]).map(drop)
}

pub(super) fn without_waiting<T>(connection: &Connection, body: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.busy_timeout(Duration::ZERO)?;
    let value = body();
    connection.busy_timeout(BUSY_TIMEOUT)?;
    value
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
