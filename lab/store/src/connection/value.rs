//! Values of parameters and columns, and rows of results.

use super::{Failure, Result};
use faultline_record::bounds::Bounded;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// The value of a parameter or a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// SQL's NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A text.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// This value with its own copy of the text.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Integer(number) => Value::Integer(number),
            Value::Real(number) => Value::Real(number),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + if let Value::Text(text) = self { text.len() } else { 0 }
    }

    /// This value with a reference to the text.
    pub(crate) fn borrowed(&self) -> Value<'_> {
        match self {
            Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            other => other.clone(),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Integer(value.into())
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Integer(value.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value.into())
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value.into())
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::Text(value.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// A type of column values.
pub(crate) trait Column: Sized {
    /// The value as this type; `None` if it has another type or is out of range.
    fn of(value: Value<'_>) -> Option<Self>;
}

impl Column for i64 {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }
}

impl Column for u32 {
    fn of(value: Value<'_>) -> Option<Self> {
        u32::try_from(i64::of(value)?).ok()
    }
}

impl Column for usize {
    fn of(value: Value<'_>) -> Option<Self> {
        usize::try_from(i64::of(value)?).ok()
    }
}

impl Column for bool {
    fn of(value: Value<'_>) -> Option<Self> {
        i64::of(value).map(|number| number != 0)
    }
}

impl Column for f64 {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Real(number) => Some(number),
            _ => None,
        }
    }
}

impl Column for String {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl<T: Column> Column for Option<T> {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

/// Columns of a row, as returned by a kind of database.
pub(crate) trait Columns {
    /// The value of a column, counted from 0. Fails if it has a type that is never saved.
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

/// A row of a query's result.
pub(crate) struct Row<'a>(pub(super) &'a dyn Columns);

impl Row<'_> {
    /// The value of a column, counted from 0, as `T`. Fails if it has another type.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T> {
        let unreadable = || Failure::unreadable(column, format_args!("no {}", std::any::type_name::<T>()));
        T::of(self.value(column)?).ok_or_else(unreadable)
    }

    /// The value of a column, counted from 0.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>> {
        self.0.value(column)
    }
}

/// Reads a JSON column. Fails if it does not hold JSON of this type.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    match row.value(column)? {
        Value::Text(text) => serde_json::from_str(&text).map_err(|error| Failure::unreadable(column, error)),
        _ => Err(Failure::unreadable(column, "no text")),
    }
}

/// Reads a JSON column whose numbers size what is computed from them. Fails like [`from_json`], and
/// if a number is out of bounds.
pub(crate) fn from_bounded_json<T: DeserializeOwned + Bounded>(row: &Row<'_>, column: usize) -> Result<T> {
    let value: T = from_json(row, column)?;
    match value.out_of_bounds() {
        Some(number) => Err(Failure::unreadable(column, number)),
        None => Ok(value),
    }
}

/// Reads a column that holds one of a few words. Fails if `read` does not know the word.
pub(crate) fn from_word<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let word: String = row.get(column)?;
    read(&word).ok_or_else(|| Failure::unreadable(column, format_args!("unknown word '{word}'")))
}

/// The JSON of plain data, for a column.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}
