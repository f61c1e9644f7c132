//! What keeps results from being read or written, as one line for people and a hint.

use std::borrow::Cow;
use std::fmt;

/// Results can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// They are not in their format.
    #[error("{}: found {found}, expected {expected}", Place(.file, *.line, *.column))]
    Malformed {
        /// The file, as it was given.
        file: String,
        /// Line from 1, where there is one.
        line: Option<u64>,
        /// Byte of the line from 1, where it is known.
        column: Option<u64>,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
    /// They are in none of the formats.
    #[error("{given}: in no format that can be read: {found}; looked for {known}")]
    Unrecognised {
        /// The file or directory, as it was given.
        given: String,
        /// What is there.
        found: String,
        /// The names of all formats.
        known: String,
    },
    /// They are changes rather than values.
    #[error("{given}: a report of changes, which holds no values")]
    Changes {
        /// The file, as it was given.
        given: String,
    },
    /// They are larger than what is read.
    #[error("{given}: {bytes} bytes, more than the {limit} that are read")]
    TooLarge {
        /// The file or directory, as it was given.
        given: String,
        /// Its size.
        bytes: u64,
        /// The largest that is read.
        limit: u64,
    },
}

impl ReadError {
    pub(crate) fn new(
        file: &str,
        line: impl Into<Option<u64>>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        ReadError::Malformed {
            file: file.to_owned(),
            line: line.into(),
            column: None,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The same error at this byte of its line.
    pub(crate) fn at_column(mut self, at: u64) -> Self {
        if let ReadError::Malformed { line: Some(_), column, .. } = &mut self {
            *column = Some(at).filter(|at| *at > 0);
        }
        self
    }

    /// The same error with its line alone.
    pub(crate) fn without_column(mut self) -> Self {
        if let ReadError::Malformed { column, .. } = &mut self {
            *column = None;
        }
        self
    }

    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadError::Malformed { .. } => {
                "mend the file, or write it again; if it is in another format, name that format"
            }
            ReadError::Unrecognised { .. } => {
                "name the format; for a tool that keeps a directory, give the directory; for others, convert to `faultline` JSON or `bencher`"
            }
            ReadError::Changes { .. } => "give the CSV from which the report was made",
            ReadError::TooLarge { .. } => "split it, or leave out what isn't needed",
        }
    }
}

/// `file:line:column`, as far as they are known.
struct Place<'a>(&'a str, Option<u64>, Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        [self.1, self.2].into_iter().flatten().try_for_each(|place| write!(f, ":{place}"))
    }
}

/// A dataset can't be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct WriteError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: Cow<'static, str>,
}

impl WriteError {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        WriteError { problem: problem.into(), hint: hint.into() }
    }
}
