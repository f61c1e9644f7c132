//! The caller's input: one file, or the files of a directory.

use crate::error::ReadError;
use crate::text;
use std::collections::BTreeMap;

/// File names with their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    given: String,
    directory: bool,
    contents: BTreeMap<String, Vec<u8>>,
}

/// A file's name and text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Files {
    /// Size limit of input: parsed, it takes several times as much memory.
    pub const LIMIT_BYTES: u64 = 128 << 20;

    /// One file under the name given by the user.
    pub fn one(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let given = name.into();
        Files { contents: BTreeMap::from([(given.clone(), bytes)]), given, directory: false }
    }

    /// The files of a directory, with paths relative to it, separated by `/`.
    pub fn directory(name: impl Into<String>, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Files { given: name.into(), directory: true, contents: files.into_iter().collect() }
    }

    /// The name given by the user.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// True for a directory.
    pub fn is_directory(&self) -> bool {
        self.directory
    }

    /// Paths and contents, ordered by path.
    pub fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.contents.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.contents.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Paths in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.contents.keys().map(String::as_str)
    }

    /// The file at a path as text. Fails if it is not UTF-8.
    pub(crate) fn file(&self, path: &str) -> Result<Option<File<'_>>, ReadError> {
        self.contents
            .get_key_value(path)
            .map(|(name, bytes)| Ok(File { name, text: text::decode(name, bytes)? }))
            .transpose()
    }

    /// The selected files, ordered by path. An item fails if its file is not UTF-8.
    pub(crate) fn chosen(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Result<File<'_>, ReadError>> {
        self.contents
            .iter()
            .filter(move |(name, _)| wanted(name))
            .map(|(name, bytes)| Ok(File { name, text: text::decode(name, bytes)? }))
    }

    /// The only file as text. Fails if there are several; `format` is named in the message.
    pub(crate) fn only(&self, format: &str) -> Result<File<'_>, ReadError> {
        let mut files = self.chosen(|_| true);
        match (files.next(), self.contents.len()) {
            (Some(file), 1) => file,
            _ => Err(ReadError::Directory {
                given: self.given.clone(),
                files: self.count_in_words(),
                format: format.to_owned(),
            }),
        }
    }

    /// The bytes of the only file.
    pub(crate) fn opening(&self) -> Option<&[u8]> {
        match self.contents.values().next() {
            Some(bytes) if self.contents.len() == 1 => Some(bytes),
            _ => None,
        }
    }

    /// The number of files as text: `no files`, `5 files`.
    pub(crate) fn count_in_words(&self) -> String {
        match self.contents.len() {
            0 => "no files".to_owned(),
            1 => "one file".to_owned(),
            n => format!("{n} files"),
        }
    }
}
