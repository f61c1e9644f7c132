//! Statements, rows and transactions of PostgreSQL.

use super::Purpose;
use super::failure::{Failure, Result};
use super::nul::{escaped, unescaped};
use super::row::{Columns, Row};
use super::value::Value;
use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error;

/// A session with a server. One thread uses it at a time, and none that runs asynchronous tasks: each call blocks.
pub(crate) struct Session {
    client: RefCell<Client>,
    /// The statements that the server has prepared, by their texts as written for every database.
    prepared: RefCell<HashMap<String, Statement>>,
    in_transaction: Cell<bool>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("in_transaction", &self.in_transaction).finish_non_exhaustive()
    }
}

impl Session {
    /// A session that was just opened.
    pub(crate) fn new(client: Client) -> Self {
        Session { client: RefCell::new(client), prepared: RefCell::default(), in_transaction: Cell::new(false) }
    }

    pub(super) fn execute(&self, statement: &str, parameters: &[Value<'_>]) -> Result<usize> {
        let prepared = self.prepare(statement)?;
        let changed = self.client.borrow_mut().execute(&prepared, &borrowed(parameters))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    pub(super) fn each_row<E: From<Failure>>(
        &self,
        query: &str,
        parameters: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let prepared = self.prepare(query)?;
        let mut client = self.client.borrow_mut();
        let mut rows = client.query_raw(&prepared, parameters).map_err(Failure::from)?;
        while let Some(row) = rows.next().map_err(Failure::from)? {
            take(&Row(&row))?;
        }
        Ok(())
    }

    /// Executes several statements without parameters.
    pub(crate) fn run(&self, statements: &str) -> Result<()> {
        Ok(self.client.borrow_mut().batch_execute(statements)?)
    }

    pub(super) fn begin(&self, purpose: Purpose) -> Result<()> {
        self.run(match purpose {
            Purpose::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Purpose::Write => "BEGIN",
        })?;
        self.in_transaction.set(true);
        Ok(())
    }

    /// Ends the transaction, by `COMMIT` or `ROLLBACK`.
    pub(super) fn end(&self, statement: &str) -> Result<()> {
        self.in_transaction.set(false);
        self.run(statement)
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn prepare(&self, statement: &str) -> Result<Statement> {
        if let Some(prepared) = self.prepared.borrow().get(statement) {
            return Ok(prepared.clone());
        }
        // Our parameters differ from PostgreSQL's only in their sign, and no statement has a question mark elsewhere.
        let prepared = self.client.borrow_mut().prepare(&statement.replace('?', "$"))?;
        self.prepared.borrow_mut().insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

fn borrowed<'a>(parameters: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Columns for postgres::Row {
    fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(self.try_get(column)?)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, kind) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => number.to_sql(kind, out),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Value::Real(number), &Type::FLOAT8) => number.to_sql(kind, out),
            (Value::Text(text), &Type::TEXT | &Type::VARCHAR) => escaped(text).as_ref().to_sql(kind, out),
            _ => Err(format!("{kind} cannot hold {self:?}").into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::FLOAT8 | Type::TEXT | Type::VARCHAR)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            _ => Value::Text(unescaped(<&str>::from_sql(kind, raw)?)),
        })
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Value::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::BOOL | Type::FLOAT8 | Type::TEXT | Type::VARCHAR)
    }
}
