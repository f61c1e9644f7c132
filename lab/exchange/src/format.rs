//! What is to be known of another tool's format to read it, write it and name it: one descriptor each, all of which `formats` lists.

use crate::error::{ReadError, WriteError};
use crate::files::{File, Files};
use crate::recognition::{Evidence, Glance};
use crate::reduction::Reduction;
use crate::written::{Written, WrittenChanges};
use faultline_model::changes::SeriesChanges;
use faultline_model::dataset::{Dataset, ReportedChange, Series};
use std::fmt;

/// A format that is read or written: an entry of [`FORMATS`](crate::FORMATS).
pub type Format = &'static FormatDescriptor;

/// A tool's way to keep results.
pub struct FormatDescriptor {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_directory: bool,
    /// What speaks for files being in this format; none if nothing does.
    pub(crate) recognise: fn(&Glance<'_>) -> Option<Evidence>,
    pub(crate) content: Content,
}

/// What a format holds, and how it is read and written.
pub(crate) enum Content {
    /// Values of benchmarks. Without `write`, the format is only read.
    Values { read: Read, write: Option<Write> },
    /// Steps that the tool found. `instead` says what can be done about values.
    Changes { read: ReadChanges, write: WriteChanges, instead: &'static str },
}

/// How values are read.
pub(crate) enum Read {
    /// From one file.
    File(fn(File<'_>) -> Result<Dataset, ReadError>),
    /// From one file or the files of a directory.
    Files(fn(&Files) -> Result<Dataset, ReadError>),
}

/// Takes away what the format can't hold, and writes the rest.
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

    /// Whether it is written too, and not only read.
    pub fn is_written(&self) -> bool {
        !matches!(self.content, Content::Values { write: None, .. })
    }

    /// Whether it holds changes rather than values.
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
