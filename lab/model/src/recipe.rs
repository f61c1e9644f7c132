//! How a commit of a repository is built.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// What builds of a recipe depend on besides the files of their commits, at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildTools {
    /// A digest of all of it: command, environment, tools.
    pub digest: String,
    /// The first line that each tool prints as its version, by the command that asks for it.
    pub versions: BTreeMap<String, String>,
}

/// A tool whose version is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedTool<'a> {
    /// The command that asks for its version.
    pub asked: &'a str,
    /// The version before; `None` if there was no such tool.
    pub before: Option<&'a str>,
    /// The version now; `None` if there is no such tool.
    pub now: Option<&'a str>,
}

impl BuildTools {
    /// The tools whose versions differ now. Empty if none does; what else belongs to the digest may differ then.
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
