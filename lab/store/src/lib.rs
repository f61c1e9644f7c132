//! Keeps runs, plans, attempts and samples in one SQLite file.
//!
//! A sample is on its way to the disk when the call that saves it returns: the process may be killed the moment after and
//! nothing is lost (a power cut may take the last moments, never the file). Nothing is altered or dropped once it is
//! saved: what does not count keeps its samples, with an outcome that says why. What figures mean belongs to `stats`.

mod conclusions;
mod delete;
mod error;
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
pub use error::StoreError;
pub use find::CommitRun;
pub use lock::MeasuringLock;
pub use queries::{CellAttempts, CellValue};
pub use run_journal::RunJournal;
pub use write::NewRun;

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a write waits for another process that is writing. Writes take well under a millisecond; a wait as long as
/// this means that the other one hangs.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    /// As it was named, for messages.
    path: PathBuf,
    /// The same, absolute.
    file: PathBuf,
    identity: Option<Identity>,
}

/// Which file a path leads to.
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
    /// Opens the database at `path`; makes it, and the directories above it, where there is none.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|error| StoreError::no_directory(directory, &error))?;
        }
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the database at `path`, which has to be there, to read it: also where we may not write it, be it another user's, on a read-only file system or
    /// in an archive. A database that an older version wrote is then brought up to date in memory.
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

    /// Opens the database at `path`, which has to be there, to write to it.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::no_database(path));
        }
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, error);
        // Absolute, a path is the name of a file and nothing else: SQLite takes `:memory:` and `file:…` for more than that.
        let file = std::path::absolute(path).map_err(|error| StoreError::no_name(path, &error))?;
        let mut connection =
            Connection::open_with_flags(&file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        schema::prepare(&mut connection, path)?;
        let identity = Identity::of(&file);
        Ok(Store { connection, path: path.to_owned(), file, identity })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that what is saved is still to be found: an open file that was removed or replaced takes every sample, and loses it.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if Identity::of(&self.file) == self.identity { Ok(()) } else { Err(StoreError::removed(&self.path)) }
    }

    /// Says what went wrong, for people, when `action` met a database error.
    fn failed(&self, action: &str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let (action, path) = (action.to_owned(), self.path.clone());
        move |error| StoreError::from_sqlite(&action, &path, error)
    }
}
