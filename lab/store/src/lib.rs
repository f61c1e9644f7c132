//! Saves runs, plans, attempts and samples in a database: in a file of SQLite's, or on a PostgreSQL server. Whoever uses a [`Store`] does not know which.
//!
//! When the call that saves a sample returns, the sample is on its way to the disk of this machine, or on the disk of the server. If the process is killed
//! immediately afterwards, nothing is lost. A power failure may lose the last moments of a file, but does not damage it. Saved data are never altered or
//! dropped: samples that do not count stay, with an outcome that says why. `stats` interprets the figures. docs/STORE.md states the guarantees.
//!
//! A database is named by a path, or by a URL that begins with `postgres://` or `postgresql://`. Calls block, so asynchronous code makes them on threads for that.

mod change_events;
mod conclusions;
mod connection;
mod copy;
mod delete;
mod error;
mod executions;
mod file;
mod find;
mod imports;
mod jobs;
mod list;
mod load;
mod location;
mod lock;
mod queries;
mod read_only;
mod run_journal;
mod schema;
mod server;
mod tables;
mod write;

pub use conclusions::Kept;
pub use copy::{Copied, CopyProgress, copy};
pub use error::{StoreError, StoreErrorKind};
pub use find::CommitRun;
pub use jobs::JobAsked;
pub use location::{directory_beside, shown};
pub use lock::{MachineLock, host_name};
pub use run_journal::RunJournal;
pub use write::NewRun;

use connection::{Connection, Failure};
use file::DatabaseFile;
use location::Location;
use server::Address;
use std::path::Path;
use std::time::Duration;

/// How long a write waits for another process that is writing. A write takes well under a millisecond, so after this time
/// the other process must be hanging.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    location: Location,
    /// The file, unless the database is on a server.
    file: Option<DatabaseFile>,
}

impl Store {
    /// Opens the database with that path or URL. Creates a file and the directories above it, or the tables on a server, if they do not exist. Fails if it cannot be
    /// created, opened or written, or is not Faultline's.
    pub fn open_or_create(named: &Path) -> Result<Self, StoreError> {
        match Location::of(named)? {
            Location::File(path) => Ok(Self::of_file(file::open_or_create(&path)?, path)),
            Location::Server(address) => {
                let connection = server::connect(&address)?;
                schema::postgres::create_or_migrate(&connection, &address)?;
                Ok(Self::on_server(connection, address))
            }
        }
    }

    /// Fails if the database with that path or URL could not be written, or created if it does not exist. Creates nothing.
    pub fn check_writable(named: &Path) -> Result<(), StoreError> {
        match Location::of(named)? {
            Location::File(path) => file::check_writable(&path),
            Location::Server(address) => schema::postgres::check_writable(&server::connect(&address)?, &address),
        }
    }

    /// Opens the existing database with that path or URL for reading, even if we may not write it (another user's, on a read-only file system, or
    /// in an archive). A file of an older version is then migrated in memory. Fails if it does not exist, cannot be read, or is not Faultline's.
    pub fn open_to_read(named: &Path) -> Result<Self, StoreError> {
        let location = Location::of(named)?;
        Self::open_to_read_if_there(named)?.ok_or_else(|| StoreError::no_database(location))
    }

    /// Like [`Store::open_to_read`]; `None` if the database does not exist.
    pub fn open_to_read_if_there(named: &Path) -> Result<Option<Self>, StoreError> {
        match Location::of(named)? {
            Location::File(path) if !path.exists() => Ok(None),
            Location::File(path) => Ok(Some(Self::of_file(file::open_to_read(&path)?, path))),
            Location::Server(address) => Self::on_server_if_there(address),
        }
    }

    /// Opens the existing database with that path or URL for writing. Fails if it does not exist, cannot be opened or written, or is not Faultline's.
    pub fn open_existing(named: &Path) -> Result<Self, StoreError> {
        match Location::of(named)? {
            Location::File(path) => Ok(Self::of_file(file::open_existing(&path)?, path)),
            Location::Server(address) => {
                let shown = address.to_string();
                Self::on_server_if_there(address)?.ok_or_else(|| StoreError::no_database(shown))
            }
        }
    }

    /// The database's name for people: its path, or its URL without the password.
    pub fn name(&self) -> String {
        self.location.to_string()
    }

    fn of_file((connection, file): (rusqlite::Connection, DatabaseFile), path: std::path::PathBuf) -> Self {
        Store { connection: Connection::Sqlite(connection), location: Location::File(path), file: Some(file) }
    }

    fn on_server(connection: Connection, address: Box<Address>) -> Self {
        Store { connection, location: Location::Server(address), file: None }
    }

    fn on_server_if_there(address: Box<Address>) -> Result<Option<Self>, StoreError> {
        let connection = server::connect(&address)?;
        let is_there = schema::postgres::migrate_if_there(&connection, &address)?;
        Ok(is_there.then(|| Self::on_server(connection, address)))
    }

    /// Checks that a file still exists at its path. An open file that was removed or replaced accepts every sample, and loses it.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if self.file.as_ref().is_none_or(DatabaseFile::is_still_there) {
            Ok(())
        } else {
            Err(StoreError::removed(&self.location))
        }
    }

    /// Describes for people what went wrong when `action` met a database error.
    fn failed(&self, action: &str) -> impl Fn(Failure) -> StoreError + use<> {
        let (action, place) = (action.to_owned(), self.location.to_string());
        move |failure| StoreError::from_failure(&action, &place, failure)
    }
}
