//! SQLite files: opened, created, opened for reading only, and watched for removal.

use crate::schema;
use crate::{BUSY_TIMEOUT, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Access, access};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Prepared statements kept per connection: enough for all those of a run.
const STATEMENTS: usize = 64;

/// The file of an open database.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    /// Absolute.
    path: PathBuf,
    identity: Option<Identity>,
}

/// Identity of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = path.metadata().ok()?;
        Some(Identity { device: metadata.dev(), inode: metadata.ino() })
    }
}

impl DatabaseFile {
    fn of(path: PathBuf) -> Self {
        let identity = Identity::of(&path);
        DatabaseFile { path, identity }
    }

    /// True if the file still exists at its path.
    pub(crate) fn is_still_there(&self) -> bool {
        Identity::of(&self.path) == self.identity
    }
}

/// Permissions of a new database: its facts and outputs are for its owner. SQLite gives the files
/// beside it the same.
const MODE: u32 = 0o600;

/// Opens the database at `path`. Creates it and its parent directories if they do not exist.
pub(crate) fn open_or_create(path: &Path) -> Result<(Connection, DatabaseFile), StoreError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(|error| StoreError::no_directory(directory, &error))?;
    }
    // An empty file is a new database. SQLite reports what is wrong with any other.
    if !path.exists() {
        // Without `create_new`, which fails on a link to a file that does not exist.
        let created = OpenOptions::new().write(true).create(true).truncate(false).mode(MODE).open(path);
        created.map_err(|error| StoreError::no_new_file(path, &error))?;
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// Opens the existing database at `path` for writing.
pub(crate) fn open_existing(path: &Path) -> Result<(Connection, DatabaseFile), StoreError> {
    if !path.exists() {
        return Err(StoreError::no_database(path.display()));
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens the existing database at `path` for reading, also if it is not writable.
pub(crate) fn open_to_read(path: &Path) -> Result<(Connection, DatabaseFile), StoreError> {
    let file = absolute(path)?;
    if may_write(&file) {
        return open(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    }
    Ok((open_read_only(&file, path)?, DatabaseFile::of(file)))
}

/// Fails if the database at `path` could not be written, or created if it does not exist. Creates
/// nothing.
pub(crate) fn check_writable(path: &Path) -> Result<(), StoreError> {
    let file = absolute(path)?;
    match (file.exists(), may_write(&file)) {
        (true, true) => open_existing(path).map(drop),
        (true, false) => Err(StoreError::not_writable(path)),
        (false, _) => check_creatable(&file, path),
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<(Connection, DatabaseFile), StoreError> {
    let failed = |error| StoreError::from_sqlite("open", path.display(), &error);
    let file = absolute(path)?;
    check_kind(&file, path)?;
    let mut connection = Connection::open_with_flags(&file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    schema::prepare_file(&mut connection, path)?;
    Ok((connection, DatabaseFile::of(file)))
}

/// The absolute path, because `:memory:` and `file:…` have a special meaning in SQLite.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))
}

/// Fails for a device, a pipe or a socket. SQLite refuses a directory.
fn check_kind(file: &Path, path: &Path) -> Result<(), StoreError> {
    match file.metadata() {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Err(StoreError::no_file(path)),
        _ => Ok(()),
    }
}

/// True if we may write the file, and create files in its directory.
fn may_write(file: &Path) -> bool {
    let directory = file.parent().unwrap_or(Path::new("/"));
    [file, directory].iter().all(|path| access(*path, Access::WRITE_OK).is_ok())
}

/// Fails if `file`, an absolute path, or one of its parent directories could not be created. `path`
/// is its name in messages.
fn check_creatable(file: &Path, path: &Path) -> Result<(), StoreError> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let there = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let writable = match there.is_dir() {
        // Tries it with an unnamed file, because root may write every directory but not every file
        // system.
        true => tempfile::tempfile_in(there).map(drop),
        false => Err(ErrorKind::NotADirectory.into()),
    };
    writable.map_err(|error| match there == directory && there.is_dir() {
        true => StoreError::no_new_file(path, &error),
        false => StoreError::no_directory(directory, &error),
    })
}

/// Opens `file`, an absolute path, for reading only. `path` is its name in messages. Fails if the
/// file cannot be read or is not a database of this schema.
///
/// Readers of a write-ahead log write to a file beside the database. If the log is empty, the
/// database is opened as immutable, which needs no such file.
fn open_read_only(file: &Path, path: &Path) -> Result<Connection, StoreError> {
    check_kind(file, path)?;
    let failed = |error| StoreError::from_sqlite("read", path.display(), &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    // A non-empty log is part of the database: without it the newest runs would be missing.
    let has_log = has_log(file);
    let immutable = if has_log { "" } else { "?immutable=1" };
    let connection = Connection::open_with_flags(format!("{}{immutable}", uri(file)), flags).map_err(failed)?;
    let unreadable = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
    if has_log
        && connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_err_and(|e| unreadable(&e))
    {
        return Err(StoreError::no_log(path));
    }
    schema::check_file(&connection, path)?;
    Ok(connection)
}

fn has_log(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log).metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// The file as a URI for SQLite, with special characters escaped.
fn uri(file: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let written = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file:{}", file.as_os_str().as_bytes().iter().map(written).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_a_uri_are_escaped() {
        assert_eq!(uri(Path::new("/a b/c?d#e%f.sqlite")), "file:/a%20b/c%3Fd%23e%25f.sqlite");
    }
}
