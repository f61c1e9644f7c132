//! A user's repository, read through a bare one of ours that borrows its objects.
//!
//! Git never runs with the user's configuration, or with that of the repository: hooks, filters and monitors that they name are not executed. What
//! our own repository has of the user's are objects (`objects/info/alternates`) and copies of references, so names mean what they mean to the user.

mod between;
mod checkout;
mod files;
mod git;
mod import;
mod line;
mod patches;
mod revert;
mod walk;

pub use between::CommitsBetween;
pub use checkout::Checkout;
pub(crate) use checkout::Surroundings;
pub use patches::{Patch, Patched};

use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use git::Git;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The reference that keeps a copy of the user's `HEAD`.
const THEIR_HEAD: &str = "refs/faultline/head";

/// A repository of ours, with the user's commits.
#[derive(Debug)]
pub struct Repository {
    git: Git,
}

impl Repository {
    /// Opens a user's repository. Ours is in `ours`, which is created if it does not exist. Fails if the directory cannot be written.
    pub(crate) fn open(theirs: &Theirs, ours: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let repository = Repository { git: Git::below(ours, lab)? };
        repository.create(lab)?;
        let git = &repository.git;
        let alternates = git.directory().join("objects/info/alternates");
        fs::create_dir_all(git.directory().join("objects/info"))
            .and_then(|()| fs::write(&alternates, format!("{}\n", theirs.objects.display())))
            .map_err(|error| unwritable(&alternates, &error))?;
        repository.copy_references(theirs, lab)?;
        Ok(repository)
    }

    /// Creates it, unless it is there.
    fn create(&self, lab: &Lab<'_>) -> Result<(), Error> {
        if !self.git.directory().join("objects").is_dir() {
            self.git.run(&["init", "--quiet", "--bare", "--template=", "."], "create a repository of ours", lab)?;
        }
        Ok(())
    }

    /// Copies the references, and `HEAD`.
    fn copy_references(&self, theirs: &Theirs, lab: &Lab<'_>) -> Result<(), Error> {
        let head = format!("+HEAD:{THEIR_HEAD}");
        let fetch = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--update-shallow",
            "--",
            &theirs.repository,
        ];
        let fetch = [&fetch[..], &["+refs/*:refs/*", &head]].concat();
        if self.git.run(&fetch, "read the repository", lab).is_err() {
            if lab.stop.is_set() {
                return Err(Error::stopped());
            }
            self.drop_references()?;
            self.git.run(&fetch, "read the repository", lab)?;
        }
        let set = ["update-ref", "--no-deref", "HEAD", THEIR_HEAD];
        self.git.run(&set, "read the repository's HEAD", lab).map(drop)
    }

    /// Removes the copies of references. Git reads nothing if one names a commit that is gone, because the user's repository was cleaned up or made anew.
    fn drop_references(&self) -> Result<(), Error> {
        let ours = self.git.directory();
        let drop = || {
            match fs::remove_file(ours.join("packed-refs")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => fs::remove_dir_all(ours.join("refs"))?,
            }
            // Without these two it is no repository.
            fs::create_dir(ours.join("refs"))?;
            fs::write(ours.join("HEAD"), format!("ref: {THEIR_HEAD}\n"))
        };
        drop().map_err(|error| unwritable(ours, &error))
    }

    /// The commit that a name of the user's means: a branch, tag, `HEAD~3`, or digits. Fails if there is none.
    pub fn commit(&self, name: &str, lab: &Lab<'_>) -> Result<CommitInfo, Error> {
        let id = self.resolve(name, lab)?;
        let mut found = self.log(&["--max-count=1", &id], lab)?;
        found.pop().ok_or_else(|| no_commit(name))
    }

    fn resolve(&self, name: &str, lab: &Lab<'_>) -> Result<String, Error> {
        let wanted = format!("{name}^{{commit}}");
        let lines = self
            .git
            .lines(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted], lab)
            .map_err(|failure| failure.or_exited(|| no_commit(name), "find a commit"))?;
        match lines.as_slice() {
            [id] if id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(id.clone()),
            _ => Err(no_commit(name)),
        }
    }
}

fn no_commit(name: &str) -> Error {
    Error::usage(
        format!("the repository has no commit '{}'", name.escape_debug()),
        "name a branch, a tag or a commit; `git log --oneline` shows them",
    )
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(
        format!("cannot write {}: {error}", path.display()),
        "`--work DIR` (in faultline.toml: `work`) names a directory for checkouts and builds",
    )
}

/// A user's repository.
#[derive(Debug)]
pub(crate) struct Theirs {
    /// Its directory: `.git`, or that of a worktree, whose `HEAD` is its own.
    repository: String,
    /// The directory that all its worktrees share.
    shared: PathBuf,
    /// The directory of its objects.
    objects: PathBuf,
}

impl Theirs {
    /// Finds the repository of a directory. The only command that runs with the user's configuration: it executes nothing that a configuration can name. Fails if
    /// there is no repository or no git.
    pub(crate) fn find(there: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let ask =
            ["rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--git-path", "objects"];
        let lines = Git::in_theirs(there, lab)?.lines(&ask, lab).map_err(|failure| {
            let hint = "go to a directory of a repository, or name one with `--repository DIR` (in faultline.toml: `repository`)";
            let refused = |said: &str| Error::usage(format!("{}: {said}", there.display()), hint);
            failure.or_exited_saying(refused, "find a repository")
        })?;
        match lines.as_slice() {
            [repository, shared, objects] if Path::new(objects).is_dir() => {
                Ok(Theirs { repository: repository.clone(), shared: shared.into(), objects: objects.into() })
            }
            _ => Err(Error::usage(
                format!("{}: git does not say where its objects are", there.display()),
                "use git 2.31 or newer, and a repository whose path is UTF-8",
            )),
        }
    }

    /// What tells it apart from every other repository, also from one that is at the same path at another time: the path of its shared directory, and the
    /// number and creation time of that directory where the file system has them. Worktrees of one repository have the same. Fails if the directory cannot be read.
    pub(crate) fn identity(&self) -> Result<String, Error> {
        let read = || -> std::io::Result<String> {
            let (path, metadata) = (self.shared.canonicalize()?, self.shared.metadata()?);
            let created = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            Ok(format!("{path:?} {} {created:?}", metadata.ino()))
        };
        read().map_err(|error| {
            Error::usage(
                format!("cannot read {}: {error}", self.shared.display()),
                "name another repository with `--repository DIR` (in faultline.toml: `repository`)",
            )
        })
    }
}
