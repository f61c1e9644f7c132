//! Where a database is: a file of SQLite's, or a server of PostgreSQL's.

use crate::StoreError;
use crate::server::Address;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

/// How the URL of a server's database begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where a database is. Shown without a password.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// A file, as the user named it.
    File(PathBuf),
    /// A server.
    Server(Box<Address>),
}

impl Location {
    /// What the user named: a path, or a server's URL. Fails if the URL cannot be understood.
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

/// The directory for files that belong beside the database with that path or URL; `None` if it is on a server.
pub fn directory_beside(named: &Path) -> Option<&Path> {
    if url(named).is_some() { None } else { Some(named.parent().unwrap_or(Path::new(""))) }
}

/// The database with that path or URL, as messages name it: without a password. Empty if the URL cannot be understood.
pub fn shown(named: &Path) -> String {
    Location::of(named).map_or_else(|_| String::new(), |location| location.to_string())
}
