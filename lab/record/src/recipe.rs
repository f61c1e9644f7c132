//! The recipe for building a commit of a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The recipe for building a commit, and the files of the build to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    /// Words of the command, which runs at the top of the checkout. Empty if nothing has to be
    /// built.
    pub command: Vec<String>,
    /// Environment variables in addition to ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Time limit of the build, in seconds.
    pub limit_s: u64,
    /// Paths below the top of the tree that are kept; empty to keep the whole tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// True if each build starts in an empty directory, without the objects of the previous one.
    pub is_clean: bool,
    /// True if builds may use the network, also in the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// True if builds and their programs run outside the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside_sandbox: bool,
}

/// True for a path within a build: below its top, or the top itself.
pub fn is_within_build(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Inputs of a recipe's builds besides the commits' files, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildTools {
    /// A digest of all these inputs: command, environment, tools.
    pub digest: String,
    /// The first line that each tool prints as its version, by the command that prints it.
    pub versions: BTreeMap<String, String>,
}

/// A tool whose version has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedTool<'a> {
    /// The command that prints the version.
    pub asked: &'a str,
    /// The version before; `None` if the tool did not exist.
    pub before: Option<&'a str>,
    /// The version now; `None` if the tool no longer exists.
    pub now: Option<&'a str>,
}

impl BuildTools {
    /// Tools whose versions have changed. If it is empty, other inputs of the digest may still have
    /// changed.
    pub fn changed<'a>(&'a self, now: &'a BuildTools) -> Vec<ChangedTool<'a>> {
        let version = |tools: &'a BuildTools, asked: &str| tools.versions.get(asked).map(String::as_str);
        let mut asked: Vec<&String> = self.versions.keys().chain(now.versions.keys()).collect();
        asked.sort();
        asked.dedup();
        let both = asked.into_iter().map(|asked| ChangedTool {
            asked,
            before: version(self, asked),
            now: version(now, asked),
        });
        both.filter(|tool| tool.before != tool.now).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_came_went_and_changed_are_named() {
        let tools = |versions: &[(&str, &str)]| BuildTools {
            digest: String::new(),
            versions: versions.iter().map(|&(asked, version)| (asked.to_owned(), version.to_owned())).collect(),
        };
        let before = tools(&[("as", "2.40"), ("cc", "gcc 12"), ("go", "1.19")]);
        let now = tools(&[("as", "2.40"), ("cc", "gcc 13"), ("ld", "2.40")]);
        let changed = before.changed(&now);
        let named: Vec<_> = changed.iter().map(|tool| (tool.asked, tool.before, tool.now)).collect();
        assert_eq!(
            named,
            [("cc", Some("gcc 12"), Some("gcc 13")), ("go", Some("1.19"), None), ("ld", None, Some("2.40"))]
        );
        assert!(before.changed(&before).is_empty());
    }
}
