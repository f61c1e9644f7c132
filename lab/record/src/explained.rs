//! Information about a step of a search besides its values: the files that its commits changed, and
//! the differences between the programs and libraries linked before and after it. It is read from
//! the repository and the builds when a search ends, and saved with the run. It does not prove a
//! cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Information about a step besides its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepExplained {
    /// The last position before the step.
    pub before: u32,
    /// The first position after the step.
    pub after: u32,
    /// For a search: the commits of which one made the step, in the order of the line; only the
    /// last [`StepExplained::MOST_COMMITS`]. For a history one entry: the commit after the step,
    /// with all differences from the commit before it.
    pub commits: Vec<CommitChanges>,
    /// Differences between the linked files of the builds before and after.
    pub linked: LinkedChanges,
}

impl StepExplained {
    /// Maximum number of commits whose changes are saved.
    pub const MOST_COMMITS: usize = 20;
}

/// The changes of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitChanges {
    /// The commit's name.
    pub commit: String,
    /// Files that the commit changed; `None` if the repository could not be read.
    pub files: Option<FilesChanged>,
}

/// Files changed by a commit, relative to the commit before it on the line. For a merge these
/// include all merged changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesChanged {
    /// Number of files.
    pub number: u32,
    /// Total number of added lines.
    pub added: u64,
    /// Total number of removed lines.
    pub removed: u64,
    /// Files with the most lines added and removed, at most [`FilesChanged::MOST_FILES`].
    pub most: Vec<FileChange>,
}

impl FilesChanged {
    /// Maximum number of files that are saved with their names.
    pub const MOST_FILES: usize = 30;

    /// Summarises all files of a commit. Keeps those with the largest changes.
    pub fn of(mut files: Vec<FileChange>) -> Self {
        let (number, lines) = (files.len() as u32, |file: &FileChange| file.lines.unwrap_or_default());
        let added = files.iter().map(|file| lines(file).added).sum();
        let removed = files.iter().map(|file| lines(file).removed).sum();
        files.sort_by_key(|file| std::cmp::Reverse(lines(file).added.saturating_add(lines(file).removed)));
        files.truncate(Self::MOST_FILES);
        FilesChanged { number, added, removed, most: files }
    }
}

/// A file changed by a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// The file's path below the top of the tree. It comes from outside: it may hold any character.
    pub path: String,
    /// Numbers of changed lines; `None` for a file that is not text.
    pub lines: Option<LinesChanged>,
}

/// Numbers of changed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinesChanged {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Sizes in bytes by name.
pub type Sizes = BTreeMap<String, u64>;

/// A program or library of a build: a linked ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedFile {
    /// The file's path below the top of the build.
    pub path: String,
    /// The file's size in bytes.
    pub bytes: u64,
    /// A digest of the file's content.
    pub digest: String,
    /// Sizes of the sections that are loaded.
    pub sections: Sizes,
    /// Sizes of the functions; functions with equal names are added up. Empty if the file has no
    /// symbols.
    pub functions: Sizes,
    /// A hash of each function's code without addresses, for comparison within this process. Empty
    /// if it is not known.
    pub code: BTreeMap<String, u64>,
}

/// Differences between the linked files of two builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LinkedChanges {
    /// Both builds were compared.
    Compared {
        /// Number of files with equal bytes in both builds.
        same: u32,
        /// Files that differ, or that only one of the builds has, at most
        /// [`LinkedChanges::MOST_FILES`].
        different: Vec<LinkedChange>,
        /// Number of further files that differ.
        left_out: u32,
    },
    /// Neither build has linked files.
    None,
    /// A build cannot be read any more.
    Gone,
}

impl LinkedChanges {
    /// Maximum number of files whose differences are saved.
    pub const MOST_FILES: usize = 10;
}

/// Differences of a linked file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedChange {
    /// The file: its path below the top of the build, and its sizes.
    pub file: SizeChange,
    /// Sections whose sizes differ, largest difference first.
    pub sections: Vec<SizeChange>,
    /// Differences of functions; `None` if the file has no symbols before or after.
    pub functions: Option<FunctionChanges>,
}

/// Functions whose code differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionChanges {
    /// Number of added functions.
    pub came: u32,
    /// Number of removed functions.
    pub went: u32,
    /// Number of functions that grew.
    pub grew: u32,
    /// Number of functions that shrank.
    pub shrank: u32,
    /// Number of functions of unchanged size whose code differs, apart from addresses. 0 if that is
    /// not known.
    #[serde(default)]
    pub changed: u32,
    /// Functions with the largest differences, at most [`FunctionChanges::MOST`].
    pub most: Vec<SizeChange>,
}

impl FunctionChanges {
    /// Maximum number of functions that are saved with their names.
    pub const MOST: usize = 30;
}

/// A size in bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeChange {
    /// Name of the file, section or function. It comes from outside: it may hold any character.
    pub name: String,
    /// The size before; `None` if the item did not exist.
    pub before: Option<u64>,
    /// The size after; `None` if the item no longer exists.
    pub after: Option<u64>,
}

impl SizeChange {
    /// The absolute difference of the sizes.
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
