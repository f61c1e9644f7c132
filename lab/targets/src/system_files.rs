//! The source of facts about a Linux: this machine's `/proc` and `/sys`, or files that a guest sent.

use std::collections::BTreeMap;
use std::fs;

/// Small text files by their absolute paths.
pub(crate) trait SystemFiles {
    /// A file's text without leading and trailing white space; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;

    /// Names in a directory; empty if it cannot be read.
    fn names(&self, directory: &str) -> Vec<String>;

    /// The whole number in a file; `None` if there is none.
    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// The files of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnFiles;

impl SystemFiles for OwnFiles {
    fn text(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Files that a guest sent, by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentFiles(pub(crate) BTreeMap<String, String>);

impl SystemFiles for SentFiles {
    fn text(&self, path: &str) -> Option<String> {
        Some(self.0.get(path)?.trim().to_owned())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let below = format!("{directory}/");
        let names = self.0.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
        names.map(str::to_owned).collect()
    }
}
