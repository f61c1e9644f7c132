//! A commit of a repository's history, and a line of them from an old one to a new one.

use crate::artefact::Release;
use crate::explained::FilesChanged;
use crate::subject::Commit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of digits in the short form of a commit's name.
const SHOWN_DIGITS: usize = 12;

/// Short form of a commit's name, for people. Names of releases contain other characters than
/// hexadecimal digits; they are not shortened.
pub fn short_name(id: &str) -> &str {
    let is_of_commit = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_of_commit { id.get(..SHOWN_DIGITS).unwrap_or(id) } else { id }
}

/// A commit, as its repository describes it. All texts come from outside: they may hold any
/// character.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitInfo {
    /// The commit's name: hexadecimal digits, or the name of a release.
    pub id: String,
    /// The name of the commit's tree. Commits with equal trees have equal files. Empty for a
    /// release.
    pub tree: String,
    /// Names of the parents. A merge has several; the first is the branch that was merged into.
    pub parents: Vec<String>,
    /// Time of the commit, in seconds since 1970.
    pub committed_s: i64,
    /// The author's name.
    pub author: String,
    /// The first line of the commit message.
    pub subject: String,
    /// Files changed relative to the first parent; `None` if this was not determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesNamed>,
}

/// Files changed by a commit, some of them with names. Names come from outside: they may hold any
/// character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct FilesNamed {
    /// Number of files.
    pub number: u32,
    /// Names of the files with the most lines added and removed, at most [`FilesNamed::MOST`].
    pub most: Vec<String>,
}

impl FilesNamed {
    /// Maximum number of saved names. It is small because every run of a history saves its line of
    /// commits.
    pub const MOST: usize = 5;

    /// The files of `changed`, without numbers of lines.
    pub fn of(changed: &FilesChanged) -> Self {
        let most = changed.most.iter().take(Self::MOST).map(|file| file.path.clone()).collect();
        FilesNamed { number: changed.number, most }
    }
}

impl CommitInfo {
    /// True if `name` denotes this commit: its whole name or first digits, or the name of a
    /// release. The message of an archive's commit consists of the release's name.
    pub fn is_called(&self, name: &str) -> bool {
        let is_release = self.tree.is_empty();
        let digits = || Commit::named(name).is_some_and(|digits| self.id.starts_with(&digits.id));
        self.id == name || (!is_release && (self.subject == name || digits()))
    }
}

/// True if `text` can be a commit's name, its first digits, or the name of a release.
pub fn can_be_name(text: &str) -> bool {
    Commit::named(text).is_some() || Release::is_name(text)
}

/// Commits from an old one to a new one, each the first parent of the next. A merge is one step,
/// with all commits that it merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitLine {
    /// The commits, oldest first; at least two.
    pub commits: Vec<CommitInfo>,
}

impl CommitLine {
    /// Position of a commit on the line, from 0; `None` for a commit of another line.
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
