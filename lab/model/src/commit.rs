//! A commit of a repository's history, and a line of them from an old one to a new one.

use crate::artefact::Release;
use crate::explained::FilesChanged;
use crate::subject::Commit;
use serde::{Deserialize, Serialize};

/// Digits of a commit's name that are shown where few must do.
const SHOWN_DIGITS: usize = 12;

/// The beginning of a commit's name, for people. Names of releases, which are not made of hexadecimal digits alone, are shown whole.
pub fn short_name(id: &str) -> &str {
    let is_of_commit = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_of_commit { id.get(..SHOWN_DIGITS).unwrap_or(id) } else { id }
}

/// A commit, as its repository describes it. All its texts come from outside: they may hold any character.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The files that it changed against its first parent; `None` if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesNamed>,
}

/// Files that a commit changed, of which some are kept by name. Names come from outside: they may hold any character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FilesNamed {
    /// Number of files.
    pub number: u32,
    /// Those with the most lines added and removed, at most [`FilesNamed::MOST`].
    pub most: Vec<String>,
}

impl FilesNamed {
    /// Number of files that are kept by name. Every run of a history saves its line of commits, so few must do.
    pub const MOST: usize = 5;

    /// Without the numbers of lines.
    pub fn of(changed: &FilesChanged) -> Self {
        let most = changed.most.iter().take(Self::MOST).map(|file| file.path.clone()).collect();
        FilesNamed { number: changed.number, most }
    }
}

impl CommitInfo {
    /// Whether people call it so: by its name or its first digits, or by the name of a release, which is the whole message of a commit of an archive.
    pub fn is_called(&self, name: &str) -> bool {
        let is_release = self.tree.is_empty();
        let digits = || Commit::named(name).is_some_and(|digits| self.id.starts_with(&digits.id));
        self.id == name || (!is_release && (self.subject == name || digits()))
    }
}

/// Whether text can be the name of a commit, its first digits, or the name of a release.
pub fn can_be_name(text: &str) -> bool {
    Commit::named(text).is_some() || Release::is_name(text)
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
    fn a_commit_is_called_by_its_first_digits_and_a_release_by_its_whole_name() {
        let commit = |id: &str, tree: &str, subject: &str| CommitInfo {
            id: id.to_owned(),
            tree: tree.to_owned(),
            subject: subject.to_owned(),
            ..CommitInfo::default()
        };
        let of_archive = commit("1f3a9c2d00", "77aa", "1.0");
        assert!(of_archive.is_called("1f3a9c2") && of_archive.is_called("1F3A9C2D") && of_archive.is_called("1.0"));
        assert!(!of_archive.is_called("1f3a9c") && !of_archive.is_called("1") && !of_archive.is_called(""));
        let kernel = commit("6.1.0-50", "", "6.1.0-50");
        assert!(kernel.is_called("6.1.0-50") && !kernel.is_called("6.1.0-5"));
    }

    #[test]
    fn a_short_name_has_twelve_digits_or_all_that_there_are() {
        assert_eq!(short_name(&"0123456789abcdef".repeat(2)), "0123456789ab");
        assert_eq!(short_name("0123456"), "0123456");
        assert_eq!(short_name("6.1.0-50-cloud-amd64"), "6.1.0-50-cloud-amd64");
        assert_eq!(short_name("ééééééééééééé"), "ééééééééééééé");
    }
}
