//! Errors of the CSV parser, with their lines.

use crate::error::ReadError;
use csv::{Error, ErrorKind, Position};

/// The error in words; `name` is the file.
pub(crate) fn in_words(name: &str, error: &Error) -> ReadError {
    let line = error.position().map(Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            ReadError::new(name, line, format!("{len} columns"), format!("{expected_len}, as in the header"))
        }
        _ => ReadError::new(name, line, error.to_string(), "CSV"),
    }
}
