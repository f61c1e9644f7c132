//! The database: runs, plans, attempts and samples in an SQLite file or on a PostgreSQL server.
//! Users of [`Store`] need not know which.
//!
//! When a call that saves a sample returns, the sample is with this machine's kernel, or on the
//! server's disk. If the process is then killed, nothing is lost. A power failure may lose the last
//! moments of a file, but does not damage it. Saved data are never altered or dropped: samples that
//! do not count stay, with an outcome that says why. docs/STORE.md states the guarantees.
//!
//! A path, or a URL that begins with `postgres://` or `postgresql://`, names a database. Calls
//! block.

mod checksum;
mod connection;
mod copy;
mod error;
mod executions;
mod file;
mod find;
mod histories;
mod imports;
mod load;
mod lock;
mod run_journal;
mod runs;
mod schema;
mod server;

pub use checksum::{Checked, DamagedExecution};
pub use copy::{Copied, CopyProgress, copy};
pub use error::{StoreError, StoreErrorKind};
pub use find::CommitRun;
pub use histories::JobAsked;
pub use lock::{MachineLock, host_name};
pub use run_journal::RunJournal;
pub use runs::NewRun;

use connection::{Connection, Failure};
use file::DatabaseFile;
use server::Address;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for which a write waits for another process. A write takes well under a millisecond, so the
/// other process must hang after this time.
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
    /// Opens the database at a path or URL. Creates the file and its parent directories, or the
    /// tables on a server, if they do not exist. Fails if it cannot be created, opened or written,
    /// or if it is another program's or has another schema.
    pub fn open_or_create(named: &Path) -> Result<Self, StoreError> {
        match Location::of(named)? {
            Location::File(path) => Ok(Self::of_file(file::open_or_create(&path)?, path)),
            Location::Server(address) => {
                let connection = server::connect(&address)?;
                schema::prepare_on_server(&connection, &address)?;
                Ok(Self::on_server(connection, address))
            }
        }
    }

    /// Fails if the database at a path or URL could not be written, or created if it does not
    /// exist. Creates nothing.
    pub fn check_writable(named: &Path) -> Result<(), StoreError> {
        match Location::of(named)? {
            Location::File(path) => file::check_writable(&path),
            Location::Server(address) => schema::check_writable_on_server(&server::connect(&address)?, &address),
        }
    }

    /// Opens the existing database at a path or URL for reading, also if it is not writable
    /// (another user's, or on a read-only file system). Fails if it does not exist, cannot be read,
    /// or if it is another program's or has another schema.
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

    /// Opens the existing database at a path or URL for writing. Fails if it does not exist or
    /// cannot be opened or written, or if it is another program's or has another schema.
    pub fn open_existing(named: &Path) -> Result<Self, StoreError> {
        match Location::of(named)? {
            Location::File(path) => Ok(Self::of_file(file::open_existing(&path)?, path)),
            Location::Server(address) => {
                let shown = address.to_string();
                Self::on_server_if_there(address)?.ok_or_else(|| StoreError::no_database(shown))
            }
        }
    }

    /// The database's path, or its URL without the password.
    pub fn name(&self) -> String {
        self.location.to_string()
    }

    fn of_file((connection, file): (rusqlite::Connection, DatabaseFile), path: PathBuf) -> Self {
        Store { connection: Connection::Sqlite(connection), location: Location::File(path), file: Some(file) }
    }

    fn on_server(connection: Connection, address: Box<Address>) -> Self {
        Store { connection, location: Location::Server(address), file: None }
    }

    fn on_server_if_there(address: Box<Address>) -> Result<Option<Self>, StoreError> {
        let connection = server::connect(&address)?;
        let is_there = schema::exists_on_server(&connection, &address)?;
        Ok(is_there.then(|| Self::on_server(connection, address)))
    }

    /// Fails if the file no longer exists at its path. An open file that was removed or replaced
    /// accepts samples and loses them.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if self.file.as_ref().is_none_or(DatabaseFile::is_still_there) {
            Ok(())
        } else {
            Err(StoreError::removed(&self.location))
        }
    }

    /// Converts a failure of `action` to an error with the database's name.
    fn failed(&self, action: &str) -> impl Fn(Failure) -> StoreError + use<> {
        let (action, place) = (action.to_owned(), self.location.to_string());
        move |failure| StoreError::from_failure(&action, &place, failure)
    }
}

/// Starts of URLs.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Location of a database. Displayed without the password.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// A file, as the user named it.
    File(PathBuf),
    /// A server.
    Server(Box<Address>),
}

impl Location {
    /// Parses a path or URL. Fails if the URL is invalid.
    pub(crate) fn of(named: &Path) -> Result<Self, StoreError> {
        match url(named) {
            Some(url) => Ok(Location::Server(Box::new(Address::parse(url)?))),
            None => Ok(Location::File(named.to_owned())),
        }
    }
}

impl Display for Location {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(formatter),
            Location::Server(address) => address.fmt(formatter),
        }
    }
}

fn url(named: &Path) -> Option<&str> {
    named.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// The directory for files beside the database at a path or URL; `None` if it is on a server.
pub fn directory_beside(named: &Path) -> Option<&Path> {
    if url(named).is_some() { None } else { Some(named.parent().unwrap_or(Path::new(""))) }
}

/// The path or URL of a database without the password; empty if the URL is invalid.
pub fn shown(named: &Path) -> String {
    Location::of(named).map_or_else(|_| String::new(), |location| location.to_string())
}
