//! Files of a commit, in a directory of ours.

use super::{Repository, unwritable};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A directory with one commit's files at a time. Other files there, such as objects of the last build, stay when the commit
/// changes, which makes builds incremental.
#[derive(Debug)]
pub struct Checkout {
    /// The directory.
    directory: PathBuf,
    /// What git knows of the files there.
    index: PathBuf,
    /// A file with the surroundings in which the files there were built. It does not exist during a build, so it is missing after one that did not end.
    built_in: PathBuf,
}

impl Checkout {
    /// The checkout in `ours`, where everything else of it is too. It is created if it does not exist. Fails if it cannot be written.
    pub fn below(ours: &Path) -> Result<Self, Error> {
        let directory = ours.join("tree");
        fs::create_dir_all(&directory).map_err(|error| unwritable(&directory, &error))?;
        let directory = directory.canonicalize().map_err(|error| unwritable(&directory, &error))?;
        let index = directory.with_file_name("tree.index");
        let built_in = directory.with_file_name("tree.built");
        Ok(Checkout { directory, index, built_in })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Prepares for a build. All files are removed if the build before did not end, or was made in other surroundings: its objects may be half written, or of
    /// another compiler, and look up to date to make. Fails if a file cannot be removed.
    pub(crate) fn begin_build(&self, surroundings: &str) -> Result<(), Error> {
        if fs::read_to_string(&self.built_in).ok().as_deref() != Some(surroundings) {
            self.clear()?;
        }
        match fs::remove_file(&self.built_in) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(&self.built_in, &error)),
            _ => Ok(()),
        }
    }

    /// Records that a build in these surroundings ended by itself. Fails if that cannot be written.
    pub(crate) fn end_build(&self, surroundings: &str) -> Result<(), Error> {
        fs::write(&self.built_in, surroundings).map_err(|error| unwritable(&self.built_in, &error))
    }

    /// Makes the files those of a commit. Files that were changed there are replaced, and only files whose content differs are written. Fails if they
    /// cannot be written.
    pub fn switch(&self, repository: &Repository, commit: &CommitInfo, lab: &Lab<'_>) -> Result<(), Error> {
        // A command that was killed leaves it; nobody else uses this directory at the same time.
        let _ = fs::remove_file(self.index.with_extension("index.lock"));
        let git = repository.git.with(&[("GIT_WORK_TREE", &self.directory), ("GIT_INDEX_FILE", &self.index)]);
        git.run(&["read-tree", "--reset", "-u", &commit.id], "check out a commit", lab).map(drop)
    }

    /// Removes all files, so that the next build begins anew. Fails if one cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let _ = fs::remove_file(&self.index);
        fs::remove_dir_all(&self.directory)
            .and_then(|()| fs::create_dir_all(&self.directory))
            .map_err(|error| unwritable(&self.directory, &error))
    }
}
