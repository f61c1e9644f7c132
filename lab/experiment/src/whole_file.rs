//! Files that are written whole, or not at all.

use crate::error::Error;
use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a file whole: it appears with all of its content, or an older one stays as it was. A symbolic link stays one, and
/// what is no regular file (a device, a pipe) is written to and never replaced.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    try_write(path, text).map_err(|error| {
        Error::failed(
            format!("cannot write {}: {error}", path.display()),
            "name a file in a place with room that can be written",
        )
    })
}

/// Refuses a file that could not be written, before there is anything to write. The file stays as it is.
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
        // To open a pipe would wait for its reader.
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
    // What is wrong with the directory is said in the system's words.
    std::fs::metadata(directory.join("."))?;
    // As any new file: what the umask leaves of reading and writing by all. One that is there keeps its mode.
    let any_new_file = Permissions::from_mode(0o666);
    let made = tempfile::Builder::new().prefix(".faultline-").permissions(any_new_file).tempfile_in(directory);
    made.map_err(|error| unnamed(&error))
}

/// Why a temporary file can't be made or moved, without its name, as nobody asked for it.
pub(crate) fn unnamed(error: &std::io::Error) -> std::io::Error {
    match error.kind() {
        // A directory that is there, and takes no files: as `/proc` does.
        ErrorKind::NotFound => std::io::Error::other("no file can be made there"),
        kind => kind.into(),
    }
}
