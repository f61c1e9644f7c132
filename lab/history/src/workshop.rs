//! Our directory for one repository: a bare repository, a checkout, and builds. One command at a time uses it.

use crate::build::{Build, Builds};
use crate::commits::{Commits, Walked};
use crate::declared::Which;
use crate::relink::{Relink, Relinked};
use crate::repository::{Checkout, Repository, Theirs};
use crate::undone::{Revert, Reverted};
use faultline_experiment::{Error, Lab};
use faultline_model::artefact::Release;
use faultline_model::commit::{CommitInfo, CommitLine};
use faultline_model::explained::FilesChanged;
use faultline_model::recipe::{BuildTools, Recipe};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Number of hexadecimal digits that tell two repositories' directories apart.
const NAME_DIGITS: usize = 16;

/// Everything that is needed to build commits of a repository.
#[derive(Debug)]
pub struct Workshop {
    /// The repository.
    pub repository: Repository,
    /// The files of one commit.
    pub checkout: Checkout,
    /// What was built.
    pub builds: Builds,
    /// Locked while we use the directory.
    _lock: File,
}

impl Workshop {
    /// Opens the workshop for the repository at `there`: in `work`, or in a directory of the user's caches that belongs to the repository, and to all
    /// its worktrees. Fails if
    /// there is no repository, if the directory cannot be written, or if another command uses it.
    pub fn open(there: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<Self, Error> {
        let there = there.canonicalize().map_err(|error| {
            Error::usage(format!("cannot use {}: {error}", there.display()), "name a directory of a repository")
        })?;
        let theirs = Theirs::find(&there, lab)?;
        let ours = match work {
            Some(work) => work.to_owned(),
            None => usual_place(&theirs.identity()?, lab)?,
        };
        Self::made(&ours, |ours| Repository::open(&theirs, ours, lab))
    }

    /// Opens the workshop for archives of releases, the oldest first: in `work`, or in a directory of the user's caches that belongs to `declared_in`, the directory
    /// of the file that lists them. Fails if an archive cannot be read, if the directory cannot be written, or if another command uses it.
    pub(crate) fn of_archives(
        releases: &[Release],
        declared_in: &Path,
        work: Option<&Path>,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let ours = place_of_releases(declared_in, work, lab)?;
        Self::made(&ours, |ours| Repository::of_archives(releases, ours, lab))
    }

    fn made(ours: &Path, repository: impl FnOnce(&Path) -> Result<Repository, Error>) -> Result<Self, Error> {
        let lock = locked(ours)?;
        Ok(Workshop {
            repository: repository(ours)?,
            checkout: Checkout::below(ours)?,
            builds: Builds::below(ours)?,
            _lock: lock,
        })
    }
}

impl Commits for Workshop {
    fn line(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitLine, Error> {
        self.repository.line(old, new, lab)
    }

    fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error> {
        self.repository.walk(which, lab)
    }

    fn tools(&self, recipe: &Recipe, lab: &Lab<'_>) -> Result<BuildTools, Error> {
        self.builds.tools(recipe, lab)
    }

    fn build(&self, commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error> {
        self.builds.build(commit, (recipe, tools), &self.repository, &self.checkout, lab)
    }

    fn relink(
        &self,
        asked: &Relink<'_>,
        recipe: &Recipe,
        tools: &BuildTools,
        lab: &Lab<'_>,
    ) -> Result<Relinked, Error> {
        self.builds.relink(asked, (recipe, tools), (&self.repository, &self.checkout), lab)
    }

    fn first_like(&self, directory: &Path) -> PathBuf {
        self.builds.first_like(directory)
    }

    fn revert(&self, asked: &Revert<'_>, lab: &Lab<'_>) -> Result<Reverted, Error> {
        self.repository.revert(asked, lab)
    }

    fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error> {
        self.repository.files(from, to, lab)
    }
}

/// Makes a directory for checkouts and builds, and locks it until the file is dropped. Fails if it cannot be written, or if another command uses it.
pub(crate) fn locked(ours: &Path) -> Result<File, Error> {
    let unwritable = |error: std::io::Error| {
        Error::usage(
            format!("cannot write {}: {error}", ours.display()),
            "`--work DIR` (in faultline.toml: `work`) names a directory for checkouts and builds",
        )
    };
    fs::create_dir_all(ours).map_err(unwritable)?;
    let lock = File::create(ours.join("lock")).map_err(unwritable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::failed(
            format!("another command builds in {}", ours.display()),
            "wait until it has ended, or name another directory with `--work DIR` (in faultline.toml: `work`)",
        )),
        Err(TryLockError::Error(error)) => Err(unwritable(error)),
    }
}

/// The directory for releases: `work`, or one of the user's caches that belongs to `declared_in`, the directory of the file that lists them.
pub(crate) fn place_of_releases(declared_in: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<PathBuf, Error> {
    match work {
        Some(work) => Ok(work.to_owned()),
        None => usual_place(&format!("releases of {}", absolute(declared_in)?), lab),
    }
}

/// The directory for a repository, or for releases, among the user's caches. `identity`: what tells it apart from every other.
fn usual_place(identity: &str, lab: &Lab<'_>) -> Result<PathBuf, Error> {
    let cache = lab.places.cache.as_deref().ok_or_else(|| {
        Error::usage(
            "there is no home directory for caches",
            "`--work DIR` (in faultline.toml: `work`) names a directory for checkouts and builds",
        )
    })?;
    let digest = Sha256::digest(identity);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(cache.join("history").join(&digits[..NAME_DIGITS]))
}

/// A path as it is saved with a run. Fails if it cannot be saved.
pub(crate) fn absolute(path: &Path) -> Result<String, Error> {
    let whole = std::path::absolute(path).map_err(|error| {
        Error::usage(format!("cannot use {}: {error}", path.display()), "name an existing directory")
    })?;
    whole.into_os_string().into_string().map_err(|path| {
        Error::usage(
            format!("the path {} is not UTF-8", path.to_string_lossy()),
            "rename it; it is saved with the run as text",
        )
    })
}
