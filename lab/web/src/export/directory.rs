//! The directory of an export: created if missing, refused with foreign files, cleaned of files of
//! earlier exports.

use faultline_experiment::{Error, whole_file};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// File that marks a directory of an earlier export, which may be replaced.
const MARK: &str = "faultline-site.txt";
const MARKED: &str =
    "Pages of a Faultline database, written by `faultline serve --export`, which replaces them when it runs again.\n";

/// Directories whose files are replaced.
const PARTS: [&str; 3] = ["assets", "runs", "histories"];
/// Extensions of replaced files.
const ENDINGS: [&str; 3] = ["html", "js", "css"];

/// The directory with the files written so far.
pub(super) struct Directory<'a> {
    path: &'a Path,
    written: BTreeSet<PathBuf>,
}

impl<'a> Directory<'a> {
    /// Prepares the directory. Fails if it has foreign files or cannot be written.
    pub(super) fn prepare(path: &'a Path) -> Result<Self, Error> {
        let failed = |error: io::Error| not_written(path, &error);
        fs::create_dir_all(path).map_err(failed)?;
        let is_empty = fs::read_dir(path).map_err(failed)?.next().is_none();
        if !is_empty && !path.join(MARK).is_file() {
            return Err(Error::usage(
                format!("{} has files that are not pages of a database", path.display()),
                "name an empty directory, or one that does not exist",
            ));
        }
        PARTS.iter().try_for_each(|part| fs::create_dir_all(path.join(part)).map_err(failed))?;
        let mut directory = Directory { path, written: BTreeSet::new() };
        directory.write(MARK, MARKED)?;
        Ok(directory)
    }

    /// Writes a file at a path below the directory. Fails if it cannot be written.
    pub(super) fn write(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let file = self.path.join(name);
        let parent = file.parent().unwrap_or(self.path);
        fs::create_dir_all(parent).map_err(|error| not_written(self.path, &error))?;
        whole_file::write(&file, text)?;
        self.written.insert(file);
        Ok(())
    }

    /// Removes files of an earlier export that were not written again. Files of other kinds stay.
    pub(super) fn remove_others(&self) -> Result<(), Error> {
        let removed = PARTS.iter().try_for_each(|part| self.remove_below(&self.path.join(part)));
        removed.map_err(|error| not_written(self.path, &error))
    }

    fn remove_below(&self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                self.remove_below(&path)?;
                if fs::read_dir(&path)?.next().is_none() {
                    fs::remove_dir(&path)?;
                }
            } else if kind.is_file() && is_ours(&path) && !self.written.contains(&path) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|ours| ending == *ours))
}

fn not_written(directory: &Path, error: &io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::AlreadyExists => "it is no directory".to_owned(),
        _ => error.to_string(),
    };
    Error::usage(format!("cannot write into {}: {why}", directory.display()), "name a writable directory")
}
