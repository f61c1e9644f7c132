//! The table `[notify]`: the command that is told of confirmed changes.

use super::entry::{Length, Words};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit of the command, unless another is asked for.
const USUAL_LIMIT: Duration = Duration::from_secs(30);

/// Who is notified of confirmed changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// Words of the command. It gets a notice as JSON on standard input.
    pub command: Vec<String>,
    /// The directory in which it runs: that of the file.
    pub directory: PathBuf,
    /// If it has not ended after this time, it is killed.
    pub limit: Duration,
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    command: Words,
    limit: Option<Length>,
}

impl Entry {
    /// What it means in a file of a directory.
    pub(super) fn notify(self, directory: &Path) -> Notify {
        let limit = self.limit.map_or(USUAL_LIMIT, |limit| limit.0);
        Notify { command: self.command.0, directory: directory.to_owned(), limit }
    }
}
