//! The descriptor of another tool's format: how to recognise, read, write and name it. `formats` lists all descriptors.

use crate::error::{ReadError, WriteError};
use crate::files::{File, Files};
use crate::recognition::{Evidence, Glance};
use crate::reduction::Reduction;
use crate::written::{Written, WrittenChanges};
use faultline_model::changes::SeriesChanges;
use faultline_model::dataset::{Dataset, ReportedChange, Series};
use std::fmt;

/// A format that can be read or written: an entry of [`FORMATS`](crate::FORMATS).
pub type Format = &'static FormatDescriptor;

/// The format of a tool's results.
pub struct FormatDescriptor {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_directory: bool,
    /// The evidence that files are in this format; `None` if there is none.
    pub(crate) recognise: fn(&Glance<'_>) -> Option<Evidence>,
    pub(crate) content: Content,
}

/// What a format holds, and how to read and write it.
pub(crate) enum Content {
    /// Values of benchmarks. Without `write`, the format can only be read.
    Values { read: Read, write: Option<Write> },
    /// Steps that the tool found. `instead` is a hint for users who want values.
    Changes { read: ReadChanges, write: WriteChanges, instead: &'static str },
}

/// How to read values.
pub(crate) enum Read {
    /// From one file.
    File(fn(File<'_>) -> Result<Dataset, ReadError>),
    /// From one file or the files of a directory.
    Files(fn(&Files) -> Result<Dataset, ReadError>),
}

/// Removes what the format cannot hold, and writes the rest.
pub(crate) type Write = fn(Reduction) -> Result<Written, WriteError>;

/// Reads a report of changes.
pub(crate) type ReadChanges = fn(File<'_>) -> Result<Vec<ReportedChange>, ReadError>;

/// Writes a report of the changes found in these series.
pub(crate) type WriteChanges = fn(&[(&Series, &SeriesChanges)]) -> WrittenChanges;

impl FormatDescriptor {
    /// The name used in arguments.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one line for people.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// Whether it is a directory rather than a file.
    pub fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// Whether it can be written too.
    pub fn is_written(&self) -> bool {
        !matches!(self.content, Content::Values { write: None, .. })
    }

    /// Whether it holds steps and not values.
    pub fn holds_changes(&self) -> bool {
        matches!(self.content, Content::Changes { .. })
    }
}

impl fmt::Display for FormatDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for FormatDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

impl PartialEq for FormatDescriptor {
    /// Names are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for FormatDescriptor {}
