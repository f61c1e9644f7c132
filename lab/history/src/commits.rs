//! What a search or a history needs of a repository: commits in their order, and their builds. A workshop has them of a real one.

use crate::build::Build;
use crate::declared::Which;
use crate::relink::{Relink, Relinked};
use crate::undone::{Revert, Reverted};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::explained::FilesChanged;
use faultline_model::recipe::{BuildTools, Recipe};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Commits of which some are picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// The commits, the oldest first.
    pub commits: Vec<CommitInfo>,
    /// Names of those that tags name.
    pub tagged: BTreeSet<String>,
}

/// Commits that can be built.
pub trait Commits {
    /// The commits from `old` to `new`, both included, along first parents. Fails if either is unknown, or if `old` is not on that line.
    fn line(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitLine, Error>;

    /// All commits of which a history picks some. Fails if a named one is unknown, or if there is none.
    fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error>;

    /// What builds of a recipe depend on now, besides the files of their commits. Fails on a stop.
    fn tools(&self, recipe: &Recipe, lab: &Lab<'_>) -> Result<BuildTools, Error>;

    /// Builds a commit, unless its build by the same recipe and tools is kept. `tools`: those of the recipe now. Fails on a stop, or if there is no room; a
    /// commit that does not build is no error.
    fn build(&self, commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error>;

    /// Links the build of a commit with another layout, unless that is kept. Fails on a stop, or if there is no room; that it cannot be linked so is no error.
    fn relink(&self, asked: &Relink<'_>, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>)
    -> Result<Relinked, Error>;

    /// The first kept build that does the same as a kept one: its files are the same but for stamps. By default only the build itself.
    fn first_like(&self, directory: &Path) -> PathBuf {
        directory.to_owned()
    }

    /// Undoes a commit on top of another. Fails on a stop, or if git does not work; that it does not apply is no error.
    fn revert(&self, asked: &Revert<'_>, lab: &Lab<'_>) -> Result<Reverted, Error>;

    /// The files that differ between two commits. Fails on a stop, or if the repository cannot be read.
    fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error>;
}
