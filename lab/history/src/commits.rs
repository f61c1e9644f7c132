//! The interface between runs and a source of commits: a repository, archives of releases, or
//! kernels that are already built.

use faultline_experiment::{Error, Lab};
use faultline_record::artefact::Artefact;
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::explained::FilesChanged;
use faultline_record::plan::CommitOrder;
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::relink::{LinkLayout, RelinkResult};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A source of commits that can be built.
pub trait Commits {
    /// The commits from `old` to `new`, both included, along first parents. Fails if a commit is
    /// unknown, or if `old` is not on that line.
    fn line(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitLine, Error>;

    /// All commits from which a history picks. Fails if a named commit is unknown, or if there is
    /// none.
    fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error>;

    /// Everything except a commit's files that builds of a recipe depend on now. Fails on a stop.
    fn tools(&self, recipe: &Recipe, lab: &mut Lab<'_>) -> Result<BuildTools, Error>;

    /// Builds a commit, or returns the kept build of the same recipe and tools. `tools`: of the
    /// recipe, as of now. A commit that does not build is a result. Fails on a stop, or if the disk
    /// is full.
    fn build(&self, commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error>;

    /// Links the build of a commit in another layout, or returns the kept one. A layout that cannot
    /// be linked is a result. Fails on a stop, or if the disk is full.
    fn relink(&self, asked: &Relink<'_>, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>)
    -> Result<Relinked, Error>;

    /// The reason why a build lacks the program to measure, with a remedy; `None` if it has it.
    /// `is_here`: this host runs it.
    fn lacking(&self, _artefact: &Artefact, _recipe: &Recipe, _directory: &Path, _is_here: bool) -> Option<String> {
        None
    }

    /// The repository's page on its forge, if there is one.
    fn forge(&self) -> Option<String> {
        None
    }

    /// The directory in which another command builds now, so that the next build waits for it.
    fn building_elsewhere(&self) -> Option<&Path> {
        None
    }

    /// The first kept build whose files are the same as those of a kept one, except for stamps. By
    /// default the build itself.
    fn first_like(&self, directory: &Path) -> PathBuf {
        directory.to_owned()
    }

    /// Undoes a commit on top of another. A conflict is a result. Fails on a stop, or if git fails.
    fn revert(&self, asked: &Revert<'_>, lab: &Lab<'_>) -> Result<Reverted, Error>;

    /// The files that differ between two commits. Fails on a stop, or if the repository cannot be
    /// read.
    fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error>;
}

/// The result of building a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Build {
    /// The build exists.
    Built {
        /// The directory with the kept files.
        directory: PathBuf,
        /// True if it was kept from an earlier build.
        is_old: bool,
    },
    /// The build command failed.
    Failed {
        /// The failure in words.
        how: String,
        /// The last lines of its output.
        output: String,
    },
}

impl Build {
    /// Replaces the directory of a successful build.
    pub(crate) fn moved(self, to: impl FnOnce(&Path) -> PathBuf) -> Self {
        match self {
            Build::Built { directory, is_old } => Build::Built { directory: to(&directory), is_old },
            failed @ Build::Failed { .. } => failed,
        }
    }
}

/// A request to link a build in another layout.
#[derive(Debug, Clone, Copy)]
pub struct Relink<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The layout.
    pub layout: LinkLayout,
    /// Directory of the commit's own build.
    pub own: &'a Path,
    /// The part of the build that is measured.
    pub artefact: &'a Artefact,
}

/// The result of linking a build in another layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relinked {
    /// The directory of the build; `None` if it is not measured.
    pub directory: Option<PathBuf>,
    /// The result as it is saved.
    pub result: RelinkResult,
}

/// A request to undo a commit.
#[derive(Debug, Clone, Copy)]
pub struct Revert<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The commit before it on its line, whose files it returns to; of a merge the first parent.
    pub before: &'a CommitInfo,
    /// The commit on top of which it is undone.
    pub on: &'a CommitInfo,
}

/// The result of undoing a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// The resulting tree. Its name is the tree's, because no commit is made.
    Tree(Box<CommitInfo>),
    /// Later commits changed the same lines: the files with conflicts, as git writes them.
    Conflict(Vec<String>),
    /// The revert changes no file.
    Empty,
}

/// The commits from which a history picks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// The commits, oldest first.
    pub commits: Vec<CommitInfo>,
    /// Names of the commits that tags name.
    pub tagged: BTreeSet<String>,
}

/// A choice of commits or releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Commits of a branch.
    Branch {
        /// The newest commit, as git names it.
        newest: String,
        /// The oldest commit, as git names it; the first commit of the branch if `None`.
        since: Option<String>,
        /// Rule that picks some of them.
        pick: Pick,
        /// Commits that belong to the branch.
        walk: Walk,
    },
    /// Named commits, oldest first.
    Named(Vec<String>),
    /// The declared releases.
    Releases,
}

impl Which {
    /// True if measured values decide which commits are measured next.
    pub fn is_adaptive(&self) -> bool {
        self.adaptive().is_some()
    }

    /// Order of the commits.
    pub(crate) fn order(&self) -> CommitOrder {
        match self {
            Which::Branch { walk: Walk::Full, .. } => CommitOrder::Branches,
            Which::Branch { walk: Walk::FirstParent, .. } | Which::Named(_) | Which::Releases => CommitOrder::Line,
        }
    }

    /// Maximum number of commits that adaptive picking measures in one call; `None` for other
    /// rules.
    pub(crate) fn adaptive(&self) -> Option<u32> {
        match self {
            Which::Branch { pick: Pick::Adaptive { most }, .. } => Some(*most),
            Which::Branch { .. } | Which::Named(_) | Which::Releases => None,
        }
    }
}

/// A rule that picks commits of a branch. The newest commit is always picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Pick {
    /// Commits whose distance from the oldest is a multiple of this number; 1 picks all.
    Every(u32),
    /// The last commit of each day, in UTC.
    Day,
    /// The last commit of each week, which begins on Monday.
    Week,
    /// The last commit of each month.
    Month,
    /// Tagged commits.
    Tags,
    /// The most informative commits about the places of steps, given the measured values.
    Adaptive {
        /// Maximum number of commits in one call of `history run`.
        most: u32,
    },
}

impl Pick {
    /// Default maximum number of commits of adaptive picking.
    pub(crate) const USUAL_MOST: u32 = 32;
}

impl TryFrom<String> for Pick {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number =
            text.strip_prefix("every ").and_then(|number| number.trim().parse().ok()).filter(|number| *number > 0);
        match (text.as_str(), number) {
            ("all", _) => Ok(Pick::Every(1)),
            ("day", _) => Ok(Pick::Day),
            ("week", _) => Ok(Pick::Week),
            ("month", _) => Ok(Pick::Month),
            ("tags", _) => Ok(Pick::Tags),
            ("adaptive", _) => Ok(Pick::Adaptive { most: Pick::USUAL_MOST }),
            (_, Some(number)) => Ok(Pick::Every(number)),
            _ => Err(format!(
                "'{}' picks no commits; write all, every N, day, week, month, tags or adaptive",
                text.escape_debug()
            )),
        }
    }
}

/// The commits that belong to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// First parents: a merge is one commit with all its changes.
    #[default]
    FirstParent,
    /// All ancestors, parents before their children.
    Full,
}
