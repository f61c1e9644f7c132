//! What is undone on top of which commit, and what came of it.

use faultline_model::commit::CommitInfo;

/// A commit that is to be undone.
#[derive(Debug, Clone, Copy)]
pub struct Revert<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The one before it on its line, to whose files it returns: of a merge the first parent.
    pub before: &'a CommitInfo,
    /// The commit on top of which it is undone.
    pub on: &'a CommitInfo,
}

/// What came of undoing a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// The result. Its name is that of its tree, because no commit is made.
    Tree(Box<CommitInfo>),
    /// It does not apply. The files with conflicts, as git writes them.
    Conflict(Vec<String>),
    /// It changes no file.
    Empty,
}
