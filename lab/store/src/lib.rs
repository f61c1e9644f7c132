//! Saves runs, plans, attempts and samples in one SQLite file.
//!
//! When the call that saves a sample returns, the sample is on its way to the disk. If the process is killed immediately afterwards,
//! nothing is lost. A power failure may lose the last moments, but does not damage the file. Saved data are never altered or
//! dropped: samples that do not count stay, with an outcome that says why. `stats` interprets the figures.

mod conclusions;
mod delete;
mod error;
mod executions;
mod find;
mod imports;
mod list;
mod load;
mod lock;
mod queries;
mod read_only;
mod run_journal;
mod schema;
mod write;

pub use conclusions::Kept;
pub use error::{StoreError, StoreErrorKind};
pub use find::CommitRun;
pub use lock::MeasuringLock;
pub use run_journal::RunJournal;
pub use write::NewRun;

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a write waits for another process that is writing. A write takes well under a millisecond, so after this time
/// the other process must be hanging.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    /// As the user named it, for messages.
    path: PathBuf,
    /// The same, absolute.
    file: PathBuf,
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

impl Store {
    /// Opens the database at `path`. Creates it, and the directories above it, if it does not exist. Fails if it cannot be created, opened or written, or is
    /// not Faultline's.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|error| StoreError::no_directory(directory, &error))?;
        }
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Fails if the database at `path` could not be written, or created if it does not exist. Creates nothing.
    pub fn check_writable(path: &Path) -> Result<(), StoreError> {
        let file = std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))?;
        match (file.exists(), read_only::may_write(&file)) {
            (true, true) => Self::open_existing(path).map(drop),
            (true, false) => Err(StoreError::not_writable(path)),
            (false, _) => read_only::check_creatable(&file, path),
        }
    }

    /// Opens the existing database at `path` for reading, even if we may not write it (another user's, on a read-only file system, or
    /// in an archive). A database of an older version is then migrated in memory. Fails if it does not exist, cannot be read, or is not Faultline's.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::no_database(path));
        }
        let file = std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))?;
        if read_only::may_write(&file) {
            return Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        }
        let connection = read_only::open(&file, path)?;
        let identity = Identity::of(&file);
        Ok(Store { connection, path: path.to_owned(), file, identity })
    }

    /// Opens the existing database at `path` for writing. Fails if it does not exist, cannot be opened or written, or is not Faultline's.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::no_database(path));
        }
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, error);
        // SQLite gives `:memory:` and `file:…` a special meaning, so the path is made absolute.
        let file = std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))?;
        let mut connection =
            Connection::open_with_flags(&file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        schema::prepare(&mut connection, path)?;
        let identity = Identity::of(&file);
        Ok(Store { connection, path: path.to_owned(), file, identity })
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the file still exists at its path. An open file that was removed or replaced accepts every sample, and loses it.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if Identity::of(&self.file) == self.identity { Ok(()) } else { Err(StoreError::removed(&self.path)) }
    }

    /// Describes for people what went wrong when `action` met a database error.
    fn failed(&self, action: &str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let (action, path) = (action.to_owned(), self.path.clone());
        move |error| StoreError::from_sqlite(&action, &path, error)
    }
}
