//! What was written in a format: files to be made, and what they don't hold.

use crate::reduction::Reduction;
use faultline_model::dataset::Dataset;

/// Files to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Paths, parted by `/`, with texts; paths never lead out of their directory.
    pub files: Vec<(String, String)>,
    /// What reading the files gives again.
    pub held: Dataset,
    /// What the files don't hold, in words; empty if they hold everything.
    pub losses: Vec<String>,
}

/// A report of changes to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenChanges {
    /// Its text.
    pub text: String,
    /// What it doesn't hold, in words.
    pub losses: Vec<String>,
}

impl Written {
    /// One file.
    pub(crate) fn file(name: &str, text: String, reduced: Reduction) -> Self {
        Written { files: vec![(name.to_owned(), text)], held: reduced.dataset, losses: reduced.losses }
    }
}
