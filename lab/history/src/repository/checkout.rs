//! Files of a commit, in a directory of ours.

use super::{Repository, unwritable};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory with one commit's files at a time. Other files there, such as objects of the last build, stay when the commit changes, so that builds are incremental.
#[derive(Debug)]
pub struct Checkout {
    /// The directory.
    directory: PathBuf,
    /// What git knows of the files there.
    index: PathBuf,
}

impl Checkout {
    /// The checkout in `ours`, where everything else of it is too. It is created if it does not exist. Fails if it cannot be written.
    pub fn below(ours: &Path) -> Result<Self, Error> {
        let directory = ours.join("tree");
        fs::create_dir_all(&directory).map_err(|error| unwritable(&directory, &error))?;
        let directory = directory.canonicalize().map_err(|error| unwritable(&directory, &error))?;
        let index = directory.with_file_name("tree.index");
        Ok(Checkout { directory, index })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
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
