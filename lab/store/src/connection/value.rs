//! The values of parameters and columns.

use std::borrow::Cow;

/// The value of a parameter or a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// There is none.
    Null,
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A text.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// The same value, which owns its text.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Integer(number) => Value::Integer(number),
            Value::Real(number) => Value::Real(number),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// The bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + if let Value::Text(text) = self { text.len() } else { 0 }
    }

    /// The same value, with the text of this one.
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

/// A type that a column is read as.
pub(crate) trait Column: Sized {
    /// The value as this type; `None` if it is of another type or out of range.
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
