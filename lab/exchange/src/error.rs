//! What keeps results from being read or written, as one line for people and a hint.

use std::borrow::Cow;
use std::fmt;

/// Results can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// They are not in their format.
    #[error("{}: found {found}, expected {expected}{}", Place(.file, *.line, *.column), Recognised(*.recognised))]
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
        /// The name of the format, if it was recognised and not given.
        recognised: Option<&'static str>,
    },
    /// They are a directory, and the format is one file.
    #[error("{given}: found a directory of {files}, expected one file in the format {format}")]
    Directory {
        /// The directory, as it was given.
        given: String,
        /// How many files it has, in words.
        files: String,
        /// The name of the format.
        format: String,
    },
    /// They are in none of the formats.
    #[error("{given}: unrecognised file format: {found}; the formats are {known}")]
    Unrecognised {
        /// The file or directory, as it was given.
        given: String,
        /// What is there.
        found: String,
        /// The names of all formats.
        known: String,
    },
    /// They can be read in several formats.
    #[error("{given}: ambiguous file format: it can be read as {formats}")]
    Ambiguous {
        /// The file or directory, as it was given.
        given: String,
        /// The names of these formats.
        formats: String,
    },
    /// There is nothing in the file.
    #[error("{given}: the file is empty")]
    Empty {
        /// The file, as it was given.
        given: String,
    },
    /// They are text in another encoding than UTF-8.
    #[error("{file}: UTF-16 text, expected UTF-8")]
    Utf16 {
        /// The file, as it was given.
        file: String,
    },
    /// They are changes rather than values.
    #[error("{given}: a report of changes, which holds no values")]
    Changes {
        /// The file, as it was given.
        given: String,
    },
    /// They are larger than what is read.
    #[error("{given}: {}the limit of {}", larger(*.bytes), size(*.limit))]
    TooLarge {
        /// The file or directory, as it was given.
        given: String,
        /// Its size; none if it is not known, as of a pipe.
        bytes: Option<u64>,
        /// The largest size that is read.
        limit: u64,
    },
}

impl ReadError {
    /// A file or directory of more than `limit` bytes. `bytes` is its size, where it is known.
    pub fn too_large(given: impl Into<String>, bytes: Option<u64>, limit: u64) -> Self {
        ReadError::TooLarge { given: given.into(), bytes, limit }
    }

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
            recognised: None,
        }
    }

    /// The same error of a file whose format was recognised, and not given.
    pub(crate) fn recognised_as(mut self, format: &'static str) -> Self {
        if let ReadError::Malformed { recognised, .. } = &mut self {
            *recognised = Some(format);
        }
        self
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
                "check that the file is complete and unchanged, or write it again; `import --from FORMAT` names another format"
            }
            ReadError::Directory { .. } => "give the file that holds the figures",
            ReadError::Unrecognised { .. } => {
                "name the format with `--from FORMAT`; if the tool writes a directory, give the directory; convert the figures of other tools to `bencher` JSON"
            }
            ReadError::Ambiguous { .. } => "name the format with `import --from FORMAT`",
            ReadError::Empty { .. } => "check that the tool that writes it succeeded",
            ReadError::Utf16 { .. } => {
                "convert it with `iconv -f UTF-16 -t UTF-8`; in PowerShell, write it with `Out-File -Encoding utf8`"
            }
            ReadError::Changes { .. } => "give the CSV from which the report was made",
            ReadError::TooLarge { .. } => "split it, or write only the benchmarks that you need",
        }
    }
}

/// How the size is said before the limit.
fn larger(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "more than ".to_owned(), |bytes| format!("{}, more than ", size(bytes)))
}

/// A size in bytes, and in the unit that is next below: `134,217,729 bytes (128.0 MiB)`.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, power)| bytes >> power > 0);
    let rounded = unit.map(|(unit, power)| format!(" ({:.1} {unit})", bytes as f64 / (1u64 << power) as f64));
    format!("{} bytes{}", grouped(bytes), rounded.unwrap_or_default())
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// `file:line:column`, as far as they are known.
struct Place<'a>(&'a str, Option<u64>, Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        [self.1, self.2].into_iter().flatten().try_for_each(|place| write!(f, ":{place}"))
    }
}

/// The format for which a file was taken, if it was recognised.
struct Recognised(Option<&'static str>);

impl fmt::Display for Recognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |format| write!(f, " (recognised as {format})"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_and_the_limit_are_said_in_the_same_units() {
        assert_eq!(
            ReadError::too_large("a", Some(3 << 30), 128 << 20).to_string(),
            "a: 3,221,225,472 bytes (3.0 GiB), more than the limit of 134,217,728 bytes (128.0 MiB)"
        );
        assert_eq!(
            ReadError::too_large("a", None, 128 << 20).to_string(),
            "a: more than the limit of 134,217,728 bytes (128.0 MiB)"
        );
        assert_eq!(
            (size(0), size(1023), size(1024)),
            ("0 bytes".into(), "1,023 bytes".into(), "1,024 bytes (1.0 KiB)".into())
        );
    }
}
