//! Our directory for one repository: a bare repository, a checkout, and builds. Several commands
//! may use it: they take turns at builds, and none waits for the measurements of another.

use crate::build::Builds;
use crate::commits::{Build, Commits, Relink, Relinked, Revert, Reverted, Walked, Which};
use crate::lacking::lacking;
use crate::repository::{Checkout, Repository, Theirs};
use faultline_experiment::{Error, Lab};
use faultline_record::artefact::{Artefact, Release};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::explained::FilesChanged;
use faultline_record::recipe::{BuildTools, Recipe};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Hexadecimal digits in the name of a repository's directory.
const NAME_DIGITS: usize = 16;

/// Everything needed to build commits of a repository.
#[derive(Debug)]
pub struct Workshop {
    /// The repository.
    pub repository: Repository,
    /// The files of one commit.
    pub checkout: Checkout,
    /// The kept builds.
    pub builds: Builds,
    /// The turn at the checkout and the builds.
    turn: Turn,
}

impl Workshop {
    /// Opens the workshop for the repository at `there`: in `work`, or in a directory of the user's
    /// cache that the worktrees of the repository share. Fails if there is no repository, or if the
    /// directory cannot be written.
    pub fn open(there: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<Self, Error> {
        let there = there.canonicalize().map_err(|error| {
            Error::usage(format!("cannot use {}: {error}", there.display()), "name a directory of a repository")
        })?;
        let theirs = Theirs::find(&there, lab)?;
        let ours = match work {
            Some(work) => work.to_owned(),
            None => usual_place(&theirs.identity()?, lab)?,
        };
        Self::made(&ours, |ours| Repository::open(&theirs, ours, lab), lab)
    }

    /// Opens the workshop for archives of releases, oldest first: in `work`, or in a directory of
    /// the user's cache for `declared_in`, the directory of the file that lists them. Fails if an
    /// archive cannot be read, or if the directory cannot be written.
    pub(crate) fn of_archives(
        releases: &[Release],
        declared_in: &Path,
        work: Option<&Path>,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let ours = place_of_releases(declared_in, work, lab)?;
        Self::made(&ours, |ours| Repository::of_archives(releases, ours, lab), lab)
    }

    fn made(
        ours: &Path,
        repository: impl FnOnce(&Path) -> Result<Repository, Error>,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let opening = Turn::at(ours, "repository.lock")?.take(lab)?;
        let repository = repository(ours)?;
        drop(opening);
        let (checkout, builds) = (Checkout::below(ours)?, Builds::below(ours)?);
        Ok(Workshop { repository, checkout, builds, turn: Turn::at(ours, BUILDING)? })
    }
}

impl Commits for Workshop {
    fn line(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitLine, Error> {
        self.repository.line(old, new, lab)
    }

    fn walk(&self, which: &Which, lab: &Lab<'_>) -> Result<Walked, Error> {
        self.repository.walk(which, lab)
    }

    fn tools(&self, recipe: &Recipe, lab: &mut Lab<'_>) -> Result<BuildTools, Error> {
        self.builds.tools(recipe, lab)
    }

    fn build(&self, commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error> {
        let _turn = self.turn.take(lab)?;
        self.builds.build(commit, (recipe, tools), &self.repository, &self.checkout, lab)
    }

    fn relink(
        &self,
        asked: &Relink<'_>,
        recipe: &Recipe,
        tools: &BuildTools,
        lab: &Lab<'_>,
    ) -> Result<Relinked, Error> {
        let _turn = self.turn.take(lab)?;
        self.builds.relink(asked, (recipe, tools), (&self.repository, &self.checkout), lab)
    }

    fn lacking(&self, artefact: &Artefact, recipe: &Recipe, directory: &Path, is_here: bool) -> Option<String> {
        lacking(artefact, recipe, directory, self.repository.checkout(), is_here)
    }

    fn forge(&self) -> Option<String> {
        self.repository.forge.clone()
    }

    fn building_elsewhere(&self) -> Option<&Path> {
        self.turn.is_taken().then(|| self.turn.directory())
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

/// File that is locked during a build.
pub(crate) const BUILDING: &str = "lock";

/// Interval between attempts to lock a file.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// A turn at a part of our directory. Commands take turns by locking a file, which a kill unlocks.
#[derive(Debug)]
pub(crate) struct Turn {
    directory: PathBuf,
    lock: PathBuf,
}

impl Turn {
    /// The turn of a lock file `name` in `ours`, a directory that is created if missing. Fails if
    /// it cannot be written.
    pub(crate) fn at(ours: &Path, name: &str) -> Result<Self, Error> {
        let turn = Turn { directory: ours.to_owned(), lock: ours.join(name) };
        // It holds copies of the user's files.
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(ours);
        created.map_err(|error| turn.unwritable(&error))?;
        turn.file().map(drop)?;
        Ok(turn)
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// True if another command has the turn.
    pub(crate) fn is_taken(&self) -> bool {
        self.file().is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Waits for the turn, which lasts until the file is dropped. Fails on a stop, or if the file
    /// cannot be written.
    pub(crate) fn take(&self, lab: &Lab<'_>) -> Result<File, Error> {
        let file = self.file()?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if lab.stop.is_set() => return Err(Error::stopped()),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL),
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            }
        }
    }

    fn file(&self) -> Result<File, Error> {
        File::create(&self.lock).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> Error {
        Error::usage(
            format!("cannot write {}: {error}", self.directory.display()),
            "`--work DIR` (in faultline.toml: `work`) names a directory for checkouts and builds",
        )
    }
}

/// Directory for releases: `work`, or one in the user's cache for `declared_in`, the directory of
/// the file that lists them.
pub(crate) fn place_of_releases(declared_in: &Path, work: Option<&Path>, lab: &Lab<'_>) -> Result<PathBuf, Error> {
    match work {
        Some(work) => Ok(work.to_owned()),
        None => usual_place(&format!("releases of {}", absolute(declared_in)?), lab),
    }
}

/// Directory in the user's cache. `identity`: of the repository or list of releases.
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

/// A path as it is saved with a run. Fails if it is not UTF-8.
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
