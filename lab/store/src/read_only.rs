//! Opens a database that may only be read.
//!
//! SQLite's write-ahead log needs a file next to the database that readers write to. If that file cannot be created and the log is empty, the
//! database is opened as a file that nobody changes.

use crate::StoreError;
use crate::schema;
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pages that are copied into memory at a time.
const PAGES: i32 = 4096;

/// Whether we may write the file, and create files next to it.
pub(crate) fn may_write(file: &Path) -> bool {
    let directory = file.parent().unwrap_or(Path::new("/"));
    [file, directory].iter().all(|path| access(*path, Access::WRITE_OK).is_ok())
}

/// Fails if `file`, an absolute path, or a directory above it could not be created. `path` is the name for messages.
pub(crate) fn check_creatable(file: &Path, path: &Path) -> Result<(), StoreError> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let there = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let writable = match there.is_dir() {
        // A file without a name, since root may write to every directory, but not in every file system.
        true => tempfile::tempfile_in(there).map(drop),
        false => Err(ErrorKind::NotADirectory.into()),
    };
    writable.map_err(|error| match there == directory && there.is_dir() {
        true => StoreError::no_new_file(path),
        false => StoreError::no_directory(directory, &error),
    })
}

/// Opens `file`, an absolute path. `path` is the name for messages. Fails if the file cannot be read or is not Faultline's.
pub(crate) fn open(file: &Path, path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::from_sqlite("read", path.display(), &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    // A log with content is part of the database: without it the newest runs would be missing.
    let immutable = if has_log(file) { "" } else { "?immutable=1" };
    let connection = Connection::open_with_flags(format!("{}{immutable}", uri(file)), flags).map_err(failed)?;
    if schema::is_current(&connection, path)? {
        return Ok(connection);
    }
    let mut copy = Connection::open_in_memory().map_err(failed)?;
    Backup::new(&connection, &mut copy)
        .and_then(|backup| backup.run_to_completion(PAGES, Duration::ZERO, None))
        .map_err(failed)?;
    schema::prepare(&mut copy, path)?;
    Ok(copy)
}

fn has_log(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log).metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// The file as a URI for SQLite, in which the path has no special characters.
fn uri(file: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let written = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file:{}", file.as_os_str().as_bytes().iter().map(written).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_uri_are_escaped() {
        assert_eq!(uri(Path::new("/a b/c?d#e%f.sqlite")), "file:/a%20b/c%3Fd%23e%25f.sqlite");
    }
}
