//! Writes files completely, or not at all.

use crate::error::Error;
use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a file completely: it appears with its whole content, or an older file remains unchanged.
/// A symbolic link remains a link, and something that is not a regular file (a device, a pipe) is
/// written to and never replaced. Fails if it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    try_write(path, text).map_err(|error| {
        Error::failed(
            format!("cannot write {}: {error}", path.display()),
            "name a file in a place with room that can be written",
        )
    })
}

/// Fails if a file could not be written, before there is anything to write. The file is not
/// changed.
pub fn check(path: &Path) -> Result<(), Error> {
    try_open(path).map_err(|error| {
        Error::usage(
            format!("cannot write {}: {error}", path.display()),
            "name a file in a directory that you can write",
        )
    })
}

fn try_open(path: &Path) -> std::io::Result<()> {
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // Opening a pipe would wait for its reader.
        Ok(there) if !there.is_file() => Ok(()),
        Ok(_) => {
            OpenOptions::new().write(true).open(path)?;
            temporary_beside(&path.canonicalize()?).map(drop)
        }
        Err(_) => temporary_beside(path).map(drop),
    }
}

fn try_write(path: &Path, text: &str) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = temporary_beside(&path)?;
    file.as_file_mut().write_all(text.as_bytes())?;
    if let Ok(there) = path.metadata() {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.persist(&path).map_err(|error| unnamed(&error.error))?;
    Ok(())
}

/// A new file in the directory of `path`.
fn temporary_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(PathBuf::from("."), Path::to_owned);
    // The system's own error describes what is wrong with the directory.
    std::fs::metadata(directory.join("."))?;
    // Mode of any new file: read and write for all, minus the umask. An existing file keeps its
    // mode.
    let any_new_file = Permissions::from_mode(0o666);
    let made = tempfile::Builder::new().prefix(".faultline-").permissions(any_new_file).tempfile_in(directory);
    made.map_err(|error| unnamed(&error))
}

/// The error of creating or moving a temporary file, without the file's name.
pub(crate) fn unnamed(error: &std::io::Error) -> std::io::Error {
    match error.kind() {
        // A directory that exists but accepts no files, such as `/proc`.
        ErrorKind::NotFound => std::io::Error::other("cannot create a file there"),
        kind => kind.into(),
    }
}
