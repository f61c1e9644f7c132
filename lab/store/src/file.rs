//! A database in a file of SQLite's: opened, created, and watched.

use crate::read_only;
use crate::schema;
use crate::{BUSY_TIMEOUT, StoreError};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// How many prepared statements a connection keeps: all that a run uses.
const STATEMENTS: usize = 64;

/// The file of an open database.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    /// Absolute.
    path: PathBuf,
    identity: Option<Identity>,
}

/// Identifies the file that a path leads to.
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

    /// Whether the file still exists at its path.
    pub(crate) fn is_still_there(&self) -> bool {
        Identity::of(&self.path) == self.identity
    }
}

/// Opens the database at `path`. Creates it, and the directories above it, if it does not exist.
pub(crate) fn open_or_create(path: &Path) -> Result<(Connection, DatabaseFile), StoreError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(|error| StoreError::no_directory(directory, &error))?;
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

/// Opens the existing database at `path` for reading, even if it may not be written. One of an older version is then migrated in memory.
pub(crate) fn open_to_read(path: &Path) -> Result<(Connection, DatabaseFile), StoreError> {
    let file = absolute(path)?;
    if read_only::may_write(&file) {
        return open(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    }
    Ok((read_only::open(&file, path)?, DatabaseFile::of(file)))
}

/// Fails if the database at `path` could not be written, or created if it does not exist. Creates nothing.
pub(crate) fn check_writable(path: &Path) -> Result<(), StoreError> {
    let file = absolute(path)?;
    match (file.exists(), read_only::may_write(&file)) {
        (true, true) => open_existing(path).map(drop),
        (true, false) => Err(StoreError::not_writable(path)),
        (false, _) => read_only::check_creatable(&file, path),
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<(Connection, DatabaseFile), StoreError> {
    let failed = |error| StoreError::from_sqlite("open", path.display(), &error);
    let file = absolute(path)?;
    let mut connection = Connection::open_with_flags(&file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    schema::prepare(&mut connection, path)?;
    Ok((connection, DatabaseFile::of(file)))
}

/// SQLite gives `:memory:` and `file:…` a special meaning, so the path is made absolute.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))
}
