//! A commit of a repository's history, and a line of them from an old one to a new one.

use serde::{Deserialize, Serialize};

/// Digits of a commit's name that are shown where few must do.
const SHOWN_DIGITS: usize = 12;

/// The beginning of a commit's name, for people. Names of releases, which are not made of hexadecimal digits alone, are shown whole.
pub fn short_name(id: &str) -> &str {
    let is_of_commit = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_of_commit { id.get(..SHOWN_DIGITS).unwrap_or(id) } else { id }
}

/// A commit, as its repository describes it. All its texts come from outside: they may hold any character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    /// Its name: hexadecimal digits, or the name of a release.
    pub id: String,
    /// The name of its tree. Commits with the same tree have the same files. Empty of a release.
    pub tree: String,
    /// Its parents' names; a merge has several, the first is the branch that was merged into.
    pub parents: Vec<String>,
    /// When it was committed, in seconds since 1970.
    pub committed_s: i64,
    /// Its author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

/// Commits from an old one to a new one. Each is the first parent of the next, so a merge is one step, with all that it brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitLine {
    /// The commits, the oldest first; at least two.
    pub commits: Vec<CommitInfo>,
}

impl CommitLine {
    /// The place of a commit on the line, from 0; `None` if it is not on it.
    pub fn position(&self, id: &str) -> Option<u32> {
        self.commits.iter().position(|commit| commit.id == id).map(|position| position as u32)
    }

    /// The last position.
    pub fn last(&self) -> u32 {
        self.commits.len().saturating_sub(1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_twelve_digits_or_all_that_there_are() {
        assert_eq!(short_name(&"0123456789abcdef".repeat(2)), "0123456789ab");
        assert_eq!(short_name("0123456"), "0123456");
        assert_eq!(short_name("6.1.0-50-cloud-amd64"), "6.1.0-50-cloud-amd64");
        assert_eq!(short_name("ééééééééééééé"), "ééééééééééééé");
    }
}
