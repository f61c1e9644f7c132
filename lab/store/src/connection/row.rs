//! A row of a query's result.

use super::failure::{Failure, Result};
use super::value::{Column, Value};
use serde::de::DeserializeOwned;

/// The columns of a row, as a kind of database returns it.
pub(crate) trait Columns {
    /// The value of a column, counted from 0. Fails if it is none of the types that we save.
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

/// A row of a query's result.
pub(crate) struct Row<'a>(pub(super) &'a dyn Columns);

impl Row<'_> {
    /// A column, counted from 0. Fails if its value is of another type.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T> {
        let unreadable = || Failure::unreadable(column, format_args!("no {}", std::any::type_name::<T>()));
        T::of(self.value(column)?).ok_or_else(unreadable)
    }

    /// The value of a column, counted from 0.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>> {
        self.0.value(column)
    }
}

/// Reads a JSON column. Fails if it is not JSON of this type.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    match row.value(column)? {
        Value::Text(text) => serde_json::from_str(&text).map_err(|error| Failure::unreadable(column, error)),
        _ => Err(Failure::unreadable(column, "no text")),
    }
}

/// Reads a column that holds one of a few words. Fails if `read` does not know it.
pub(crate) fn from_word<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let word: String = row.get(column)?;
    read(&word).ok_or_else(|| Failure::unreadable(column, format_args!("unknown word '{word}'")))
}
