//! Files of a commit, in a directory of ours.

use super::{Repository, unwritable};
use crate::linked_files;
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where the build of a Linux tree leaves the kernel before it is made an image.
const KERNEL: &str = "vmlinux";

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

/// What a build depends on besides the files of its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Surroundings<'a> {
    /// A digest of its tools.
    pub(crate) tools: &'a str,
    /// What its linker was told of the layout; empty without one.
    pub(crate) layout: &'a str,
}

impl<'a> Surroundings<'a> {
    fn text(&self) -> String {
        if self.layout.is_empty() { self.tools.to_owned() } else { format!("{}\n{}", self.tools, self.layout) }
    }

    fn read(text: &'a str) -> Self {
        let (tools, layout) = text.split_once('\n').unwrap_or((text, ""));
        Surroundings { tools, layout }
    }
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

    /// Prepares for a build. All files are removed if the build before did not end, or was made by other tools: its objects may be half written, or of
    /// another compiler, and look up to date to make. If only the layout was another, what was linked is removed, so that it is linked again. Fails if a file
    /// cannot be removed.
    pub(crate) fn begin_build(&self, surroundings: Surroundings<'_>) -> Result<(), Error> {
        let before = fs::read_to_string(&self.built_in).ok();
        match before.as_deref().map(Surroundings::read) {
            Some(before) if before == surroundings => {}
            Some(before) if before.tools == surroundings.tools => self.remove_linked()?,
            _ => self.clear()?,
        }
        match fs::remove_file(&self.built_in) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(&self.built_in, &error)),
            _ => Ok(()),
        }
    }

    /// Records that a build in these surroundings ended by itself. Fails if that cannot be written.
    pub(crate) fn end_build(&self, surroundings: Surroundings<'_>) -> Result<(), Error> {
        fs::write(&self.built_in, surroundings.text()).map_err(|error| unwritable(&self.built_in, &error))
    }

    /// Removes programs and libraries. A checkout restores those that belong to the commit. Of a Linux tree that is the kernel alone: no layout reaches what else is linked
    /// there, and all objects are compiled again if the tools that check them are new.
    fn remove_linked(&self) -> Result<(), Error> {
        let kernel = self.directory.join(KERNEL);
        linked_files::paths(&self.directory)
            .map(|paths| if paths.contains(&kernel) { vec![kernel] } else { paths })
            .and_then(|paths| paths.iter().try_for_each(fs::remove_file))
            .map_err(|error| unwritable(&self.directory, &error))
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
