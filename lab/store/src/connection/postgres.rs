//! Statements, rows, transactions and values of PostgreSQL.

use super::value::{Columns, Row, Value};
use super::{Failure, Purpose, Result};
use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error;

/// A session with a server, for one thread at a time. Calls block, so threads of asynchronous tasks
/// must not use it.
pub(crate) struct Session {
    client: RefCell<Client>,
    /// The statements prepared on the server, by their text before translation.
    prepared: RefCell<HashMap<String, Statement>>,
    in_transaction: Cell<bool>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("in_transaction", &self.in_transaction).finish_non_exhaustive()
    }
}

impl Session {
    /// The session of a new client.
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

    /// Ends the transaction with `COMMIT` or `ROLLBACK`.
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
        // Parameters differ from PostgreSQL's only in their sign. No statement has another question
        // mark.
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

/// The character that PostgreSQL's texts cannot hold. SUB and a digit replace it, and SUB itself,
/// so that every text reads back as it was saved. Neither occurs in JSON, which escapes control
/// characters.
const NUL: char = '\0';
const SUB: char = '\u{1A}';

/// The text with NUL and SUB escaped.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains([NUL, SUB]) { text.replace(SUB, "\u{1A}1").replace(NUL, "\u{1A}0").into() } else { text.into() }
}

/// The text before [`escaped`].
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if text.contains(SUB) { text.replace("\u{1A}0", "\0").replace("\u{1A}1", "\u{1A}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_reads_back_and_has_no_nul(text in "[\0\u{1A}01a]{0,12}") {
            let saved = escaped(&text);
            prop_assert!(!saved.contains(NUL));
            prop_assert_eq!(unescaped(&saved), text.as_str());
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        assert_eq!(escaped("it's \"x\"; \\0 \u{1B}"), "it's \"x\"; \\0 \u{1B}");
    }
}
