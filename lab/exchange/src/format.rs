//! The descriptor of a format, and the output of writing.

use crate::error::{ReadError, WriteError};
use crate::files::{File, Files};
use crate::recognition::{FormatMatch, Glance};
use crate::reduction::Reduction;
use faultline_record::dataset::{Dataset, ReportedChange, Series};
use faultline_stats::changes::SeriesChanges;
use std::fmt;

/// A format: an entry of [`FORMATS`](crate::FORMATS).
pub type Format = &'static FormatDescriptor;

/// The format of a tool's results: names, recognition, reading and writing.
pub struct FormatDescriptor {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) reads: &'static str,
    pub(crate) writes: &'static str,
    pub(crate) is_directory: bool,
    /// Match quality of files for this format; `None` if they do not match.
    pub(crate) recognise: fn(&Glance<'_>) -> Option<FormatMatch>,
    pub(crate) content: Content,
}

/// The content of a format, with its reader and writer.
pub(crate) enum Content {
    /// Values of benchmarks. Without `write`, the format can only be read.
    Values { read: Read, write: Option<Write> },
    /// Steps that the tool found. `instead`: a hint for users who want values.
    Changes { read: ReadChanges, write: WriteChanges, instead: &'static str },
}

/// A reader of values.
pub(crate) enum Read {
    /// Reads one file.
    File(fn(File<'_>) -> Result<Dataset, ReadError>),
    /// Reads one file or a directory.
    Files(fn(&Files) -> Result<Dataset, ReadError>),
}

/// A writer: reduces the dataset to what the format holds, and writes it.
pub(crate) type Write = fn(Reduction) -> Result<Written, WriteError>;

/// A reader of a report of changes.
pub(crate) type ReadChanges = fn(File<'_>) -> Result<Vec<ReportedChange>, ReadError>;

/// A writer of the changes found in these series.
pub(crate) type WriteChanges = fn(&[(&Series, &SeriesChanges)]) -> WrittenChanges;

impl FormatDescriptor {
    /// The name in arguments.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The files, in one line.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// The parts that are read, in one line.
    pub fn reads(&self) -> &'static str {
        self.reads
    }

    /// The parts that are written and those that are lost, in one line; empty if the format is only
    /// read.
    pub fn writes(&self) -> &'static str {
        self.writes
    }

    /// True if the format is a directory rather than a file.
    pub fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// True if Faultline writes the format.
    pub fn is_written(&self) -> bool {
        !matches!(self.content, Content::Values { write: None, .. })
    }

    /// True if the format holds steps instead of values.
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
    /// Compares names, which are unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for FormatDescriptor {}

/// The files to create.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Paths with texts. Paths are separated by `/` and never leave their directory.
    pub files: Vec<(String, String)>,
    /// The dataset that reading the files returns.
    pub held: Dataset,
    /// The losses, as text.
    pub losses: Vec<String>,
}

/// A report of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenChanges {
    /// The text.
    pub text: String,
    /// The losses, as text.
    pub losses: Vec<String>,
}

impl Written {
    /// Output of one file.
    pub(crate) fn file(name: &str, text: String, reduced: Reduction) -> Self {
        Written { files: vec![(name.to_owned(), text)], held: reduced.dataset, losses: reduced.losses }
    }
}
