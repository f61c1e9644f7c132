//! Errors of reading and writing: one line and a hint each.

use std::borrow::Cow;
use std::fmt;

/// Reading failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The file violates its format.
    #[error("{}: found {found}, expected {expected}{}", FilePosition(.file, *.line, *.column), Recognised(*.recognised))]
    Malformed {
        /// File name as given.
        file: String,
        /// Line number from 1, if there is one.
        line: Option<u64>,
        /// Byte within the line from 1, if known.
        column: Option<u64>,
        /// The actual content.
        found: String,
        /// The expected content.
        expected: String,
        /// Format name, if the format was recognised rather than given.
        recognised: Option<&'static str>,
    },
    /// The columns of a table do not show what they hold.
    #[error("{file}: {problem}")]
    Columns {
        /// File name as given.
        file: String,
        /// One sentence that names the columns.
        problem: String,
    },
    /// A directory was given for a format of one file.
    #[error("{given}: found a directory of {files}, expected one file in the format {format}")]
    Directory {
        /// Directory name as given.
        given: String,
        /// Number of files in it, as text.
        files: String,
        /// Format name.
        format: String,
    },
    /// No format matches.
    #[error("{given}: unrecognised file format: {found}")]
    Unrecognised {
        /// File or directory name as given.
        given: String,
        /// The actual content.
        found: String,
    },
    /// Several formats can read the files.
    #[error("{given}: ambiguous file format: it can be read as {formats}")]
    Ambiguous {
        /// File or directory name as given.
        given: String,
        /// Names of these formats.
        formats: String,
    },
    /// The file is empty.
    #[error("{given}: the file is empty")]
    Empty {
        /// File name as given.
        given: String,
    },
    /// The text is UTF-16.
    #[error("{file}: UTF-16 text, expected UTF-8")]
    Utf16 {
        /// File name as given.
        file: String,
    },
    /// The file holds changes, not values.
    #[error("{given}: a report of changes, which holds no values")]
    Changes {
        /// File name as given.
        given: String,
    },
    /// The input exceeds the size limit.
    #[error("{given}: {}the limit of {}", larger(*.bytes), size(*.limit))]
    TooLarge {
        /// File or directory name as given.
        given: String,
        /// Size in bytes; `None` if unknown, such as for a pipe.
        bytes: Option<u64>,
        /// Size limit in bytes.
        limit: u64,
    },
}

impl ReadError {
    /// The error for input of more than `limit` bytes. `bytes`: its size, if known.
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

    /// Adds the name of the recognised format.
    pub(crate) fn recognised_as(mut self, format: &'static str) -> Self {
        if let ReadError::Malformed { recognised, .. } = &mut self {
            *recognised = Some(format);
        }
        self
    }

    /// Adds the position within the line.
    pub(crate) fn at_column(mut self, at: u64) -> Self {
        if let ReadError::Malformed { line: Some(_), column, .. } = &mut self {
            *column = Some(at).filter(|at| *at > 0);
        }
        self
    }

    /// Removes the position within the line.
    pub(crate) fn without_column(mut self) -> Self {
        if let ReadError::Malformed { column, .. } = &mut self {
            *column = None;
        }
        self
    }

    /// A hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadError::Malformed { .. } => {
                "check that the file is complete and unchanged, or write it again; `--from FORMAT` names another format"
            }
            ReadError::Columns { .. } => {
                "in the first line, name the columns `time`, `commit`, `benchmark` and, for each value, as you like; remove other columns"
            }
            ReadError::Directory { .. } => "give the file that holds the results",
            ReadError::Unrecognised { .. } => {
                "`faultline import --formats` lists the formats, `--from FORMAT` names one; if the tool writes a directory, give the directory; convert other results to `csv`, whose first line names the columns"
            }
            ReadError::Ambiguous { .. } => "name the format with `--from FORMAT`",
            ReadError::Empty { .. } => "check that the tool succeeded",
            ReadError::Utf16 { .. } => {
                "convert it with `iconv -f UTF-16 -t UTF-8`; in PowerShell, write it with `Out-File -Encoding utf8`"
            }
            ReadError::Changes { .. } => "give the CSV from which the report was made",
            ReadError::TooLarge { .. } => "split it, or write only the benchmarks that you need",
        }
    }
}

/// The size with the words that precede the limit.
fn larger(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "more than ".to_owned(), |bytes| format!("{}, more than ", size(bytes)))
}

/// A size in bytes and in the largest unit that fits: `134,217,729 bytes (128.0 MiB)`.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, power)| bytes >> power > 0);
    let rounded = unit.map(|(unit, power)| format!(" ({:.1} {unit})", bytes as f64 / (1u64 << power) as f64));
    format!("{} bytes{}", grouped(bytes), rounded.unwrap_or_default())
}

/// An integer with thousands separators: `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Prints `file:line:column` as far as known.
struct FilePosition<'a>(&'a str, Option<u64>, Option<u64>);

impl fmt::Display for FilePosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        [self.1, self.2].into_iter().flatten().try_for_each(|place| write!(f, ":{place}"))
    }
}

/// Prints the recognised format, if any.
struct Recognised(Option<&'static str>);

impl fmt::Display for Recognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |format| write!(f, " (recognised as {format})"))
    }
}

/// Writing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct WriteError {
    /// The problem in one line.
    pub problem: String,
    /// A hint for the user.
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
    fn size_and_limit_have_the_same_units() {
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
