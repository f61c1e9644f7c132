//! Output in a format: the files to create, and what they do not hold.

use crate::reduction::Reduction;
use faultline_model::dataset::Dataset;

/// The files to create.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Paths, separated by `/`, with texts; paths never lead out of their directory.
    pub files: Vec<(String, String)>,
    /// What reading the files returns.
    pub held: Dataset,
    /// What the files do not hold, in words; empty if they hold everything.
    pub losses: Vec<String>,
}

/// A report of steps to write.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenChanges {
    /// Its text.
    pub text: String,
    /// What it does not hold, in words.
    pub losses: Vec<String>,
}

impl Written {
    /// One file.
    pub(crate) fn file(name: &str, text: String, reduced: Reduction) -> Self {
        Written { files: vec![(name.to_owned(), text)], held: reduced.dataset, losses: reduced.losses }
    }
}
