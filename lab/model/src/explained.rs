//! What is known of a step of a search besides its values: the files that its commits changed, and how the programs and libraries that were linked before
//! and after it differ. It is read from the repository and the builds when a search ends, and saved with the run. It is not proof of a cause.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a step besides its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepExplained {
    /// The last position before the step.
    pub before: u32,
    /// The first position after it.
    pub after: u32,
    /// Of a search the commits of which one made it, in the order of the line, at most [`StepExplained::MOST_COMMITS`]: the last ones. Of a history one entry: the
    /// commit after the step, with all that differs from the one before it.
    pub commits: Vec<CommitChanges>,
    /// How what was linked differs between the builds before and after.
    pub linked: LinkedChanges,
}

impl StepExplained {
    /// Number of commits of which the changes are kept.
    pub const MOST_COMMITS: usize = 20;
}

/// What a commit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitChanges {
    /// The commit's name.
    pub commit: String,
    /// Its files; `None` if the repository could not be read.
    pub files: Option<FilesChanged>,
}

/// Files that a commit changed, against the commit before it on the line. A merge has those of all that it brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesChanged {
    /// Number of files.
    pub number: u32,
    /// Lines added in all of them.
    pub added: u64,
    /// Lines removed in all of them.
    pub removed: u64,
    /// Those with the most lines added and removed, at most [`FilesChanged::MOST_FILES`].
    pub most: Vec<FileChange>,
}

impl FilesChanged {
    /// Number of files that are kept by name.
    pub const MOST_FILES: usize = 30;

    /// All files of a commit, of which the greatest changes are kept.
    pub fn of(mut files: Vec<FileChange>) -> Self {
        let (number, lines) = (files.len() as u32, |file: &FileChange| file.lines.unwrap_or_default());
        let added = files.iter().map(|file| lines(file).added).sum();
        let removed = files.iter().map(|file| lines(file).removed).sum();
        files.sort_by_key(|file| std::cmp::Reverse(lines(file).added.saturating_add(lines(file).removed)));
        files.truncate(Self::MOST_FILES);
        FilesChanged { number, added, removed, most: files }
    }
}

/// A file that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path below the top of the tree. It comes from outside: it may hold any character.
    pub path: String,
    /// Its lines; `None` of a file that is no text.
    pub lines: Option<LinesChanged>,
}

/// Numbers of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinesChanged {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Sizes in bytes by name.
pub type Sizes = BTreeMap<String, u64>;

/// A program or library of a build: an ELF file that was linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedFile {
    /// Its path below the top of the build.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// A digest of its content.
    pub digest: String,
    /// Its sections that are loaded.
    pub sections: Sizes,
    /// Its functions. Those of one name are added up. Empty if the file has no symbols.
    pub functions: Sizes,
}

/// How linked files differ between two builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LinkedChanges {
    /// They were compared.
    Compared {
        /// Number of files with the same bytes in both.
        same: u32,
        /// Files that differ or that only one of the builds has, at most [`LinkedChanges::MOST_FILES`].
        different: Vec<LinkedChange>,
        /// Number of further files that differ.
        left_out: u32,
    },
    /// Neither build has any.
    None,
    /// A build cannot be read any more.
    Gone,
}

impl LinkedChanges {
    /// Number of files of which the differences are kept.
    pub const MOST_FILES: usize = 10;
}

/// How a linked file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedChange {
    /// The file: its path below the top of the build, and its sizes.
    pub file: SizeChange,
    /// Its sections whose sizes differ, the greatest difference first.
    pub sections: Vec<SizeChange>,
    /// Its functions; `None` if the file has no symbols before or after.
    pub functions: Option<FunctionChanges>,
}

/// How the sizes of functions differ. A function whose code changed but not its size is not among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionChanges {
    /// Functions that came.
    pub came: u32,
    /// Functions that went.
    pub went: u32,
    /// Functions that grew.
    pub grew: u32,
    /// Functions that shrank.
    pub shrank: u32,
    /// Those with the greatest differences, at most [`FunctionChanges::MOST`].
    pub most: Vec<SizeChange>,
}

impl FunctionChanges {
    /// Number of functions that are kept by name.
    pub const MOST: usize = 30;
}

/// A size in bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeChange {
    /// What has the size. It comes from outside: it may hold any character.
    pub name: String,
    /// The size before; `None` if it was not there.
    pub before: Option<u64>,
    /// The size after; `None` if it is not there.
    pub after: Option<u64>,
}

impl SizeChange {
    /// By how much the size differs.
    pub fn difference(&self) -> u64 {
        self.before.unwrap_or(0).abs_diff(self.after.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_changes_of_a_commit_are_kept_and_all_are_counted() {
        let file = |number: u64| FileChange {
            path: format!("file {number}"),
            lines: (number > 0).then_some(LinesChanged { added: number, removed: 1 }),
        };
        let changed = FilesChanged::of((0..100).map(file).collect());
        assert_eq!((changed.number, changed.added, changed.removed), (100, 99 * 100 / 2, 99));
        assert_eq!((changed.most.len(), changed.most[0].path.as_str()), (FilesChanged::MOST_FILES, "file 99"));
    }
}
