//! Our checkout: a directory with the files of one commit.

use super::git::{Failure, must_succeed};
use super::{Repository, unwritable};
use crate::linked_files;
use faultline_experiment::{Error, Lab};
use faultline_record::commit::CommitInfo;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Kernel of a Linux tree before it is made an image.
const KERNEL: &str = "vmlinux";

/// A directory with one commit's files at a time. Other files, such as object files, stay when the
/// commit changes, so builds are incremental.
#[derive(Debug)]
pub struct Checkout {
    /// The directory.
    directory: PathBuf,
    /// Git's index of the files.
    index: PathBuf,
    /// File with the environment of the last build. It does not exist during a build, so it is
    /// missing after one that was cut off.
    built_in: PathBuf,
}

/// Everything except a commit's files that decides a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuildEnvironment<'a> {
    /// Digest of its tools.
    pub(crate) tools: &'a str,
    /// The linker's layout; empty for the default.
    pub(crate) layout: &'a str,
}

impl<'a> BuildEnvironment<'a> {
    fn text(&self) -> String {
        if self.layout.is_empty() { self.tools.to_owned() } else { format!("{}\n{}", self.tools, self.layout) }
    }

    fn read(text: &'a str) -> Self {
        let (tools, layout) = text.split_once('\n').unwrap_or((text, ""));
        BuildEnvironment { tools, layout }
    }
}

impl Checkout {
    /// The checkout in `ours`, created if missing. Fails if it cannot be written.
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

    /// Prepares for a build. Removes all files if the last build was cut off or used other tools,
    /// because make would take its objects for current. Removes only linked files if just the
    /// layout differs. Fails if a file cannot be removed.
    pub(crate) fn begin_build(&self, environment: BuildEnvironment<'_>) -> Result<(), Error> {
        let before = fs::read_to_string(&self.built_in).ok();
        match before.as_deref().map(BuildEnvironment::read) {
            Some(before) if before == environment => {}
            Some(before) if before.tools == environment.tools => self.remove_linked()?,
            _ => self.clear()?,
        }
        match fs::remove_file(&self.built_in) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(&self.built_in, &error)),
            _ => Ok(()),
        }
    }

    /// Records that a build in this environment ended by itself. Fails if that cannot be written.
    pub(crate) fn end_build(&self, environment: BuildEnvironment<'_>) -> Result<(), Error> {
        fs::write(&self.built_in, environment.text()).map_err(|error| unwritable(&self.built_in, &error))
    }

    /// Removes programs and libraries; a checkout restores those of the commit. In a Linux tree
    /// removes only the kernel: layouts do not reach other links there, and new check tools would
    /// recompile everything.
    fn remove_linked(&self) -> Result<(), Error> {
        let kernel = self.directory.join(KERNEL);
        linked_files::paths(&self.directory)
            .map(|paths| if paths.contains(&kernel) { vec![kernel] } else { paths })
            .and_then(|paths| paths.iter().try_for_each(fs::remove_file))
            .map_err(|error| unwritable(&self.directory, &error))
    }

    /// Checks out a commit with its submodules. Replaces changed files, and writes only files whose
    /// content differs. Returns the paths of submodules that are not there. Inner error: git's
    /// reason to refuse the commit, which is a result. Fails if files cannot be written, or if the
    /// repository lacks a part of the commit.
    pub fn switch(
        &self,
        repository: &Repository,
        commit: &CommitInfo,
        lab: &Lab<'_>,
    ) -> Result<Result<Vec<String>, String>, Error> {
        let what = "check out a commit";
        // Git leaves the files of a submodule that the next commit has not.
        if self.modules().is_dir() {
            self.clear()?;
        }
        match self.try_switch(repository, commit, lab) {
            Ok(_) => return self.add_submodules(repository, &commit.id, lab),
            // Files of an earlier build may be in the way.
            Err(Failure::Exited(_)) => self.clear()?,
            Err(failure) => return Err(must_succeed(failure, what)),
        }
        match self.try_switch(repository, commit, lab) {
            Ok(_) => self.add_submodules(repository, &commit.id, lab),
            Err(Failure::Exited(said)) => repository.check_whole(commit, lab).map(|()| Err(said)),
            Err(failure) => Err(must_succeed(failure, what)),
        }
    }

    fn try_switch(&self, repository: &Repository, commit: &CommitInfo, lab: &Lab<'_>) -> Result<Vec<String>, Failure> {
        // A killed command leaves this lock. No other command uses the directory.
        let _ = fs::remove_file(self.index.with_extension("index.lock"));
        let git = repository.git.with(&[("GIT_WORK_TREE", &self.directory), ("GIT_INDEX_FILE", &self.index)]);
        git.lines(&["read-tree", "--reset", "-u", &commit.id], lab)
    }

    /// Removes all files, so the next build starts clean. Fails if a file cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let _ = fs::remove_file(&self.index);
        let _ = fs::remove_dir_all(self.modules());
        fs::remove_dir_all(&self.directory)
            .and_then(|()| fs::create_dir_all(&self.directory))
            .map_err(|error| unwritable(&self.directory, &error))
    }
}
