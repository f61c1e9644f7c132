//! What came of undoing a commit on top of another.

use serde::{Deserialize, Serialize};

/// What came of it before it was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RevertResult {
    /// It was built.
    Built,
    /// Later commits changed the same lines.
    Conflict {
        /// The files with conflicts, as git writes them. They come from outside: they may hold any character.
        files: Vec<String>,
    },
    /// It changes no file: the commit is undone already.
    Empty,
    /// It cannot be built.
    Failed {
        /// How it failed, in words.
        how: String,
        /// The last lines of its output.
        output: String,
    },
}
