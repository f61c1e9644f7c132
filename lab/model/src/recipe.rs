//! How a commit of a repository is built.

use serde::{Deserialize, Serialize};

/// How a commit is built, and what is kept of the build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Words of the command, which runs at the top of the checkout. Empty: nothing has to be built.
    pub command: Vec<String>,
    /// Environment variables in addition to ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Longest time that it may take, in seconds.
    pub limit_s: u64,
    /// What is kept of the tree: these paths below its top, or the whole if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Each build begins in an empty directory, without the objects of the one before.
    #[serde(default)]
    pub is_clean: bool,
}
