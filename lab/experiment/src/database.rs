//! The database, opened for reading or for measuring.

use crate::error::Error;
use crate::places::Places;
pub use faultline_store::{Copied, CopyProgress};
use faultline_store::{MachineLock, Store};
use std::path::Path;

/// The existing database, for reading. Fails if it does not exist or cannot be read.
pub(crate) fn existing(places: &Places) -> Result<Store, Error> {
    Ok(Store::open_to_read(places.database()?)?)
}

/// The same; `None` if it does not exist.
pub(crate) fn if_there(places: &Places) -> Result<Option<Store>, Error> {
    Ok(Store::open_to_read_if_there(places.database()?)?)
}

/// Fails if measurements could not be saved: if the database, or where it would be created, cannot be written. Nothing is created.
pub fn check_writable(places: &Places) -> Result<(), Error> {
    Ok(Store::check_writable(places.database()?)?)
}

/// Copies a database, a path or URL, into an empty one, which is created if it does not exist. Fails if the other holds anything; if the first does not exist or cannot be read; or if
/// the other cannot be written. Then nothing is copied.
pub fn copy_database(from: &Path, to: &Path, progress: &mut dyn FnMut(CopyProgress)) -> Result<Copied, Error> {
    Ok(faultline_store::copy(from, to, progress)?)
}

/// A database into which no other process of this machine measures at the moment.
pub(crate) struct MeasuringStore {
    _lock: MachineLock,
    /// The database.
    pub(crate) store: Store,
}

impl MeasuringStore {
    /// Opens the database, or creates it. Fails if it cannot be opened or written, or if another process of this machine measures into it.
    pub(crate) fn open_or_create(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_or_create(places.database()?)?)
    }

    /// Opens the existing database. Fails if it does not exist, cannot be written, or if another process of this machine measures into it.
    pub(crate) fn open_existing(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_existing(places.database()?)?)
    }

    fn lock(store: Store) -> Result<Self, Error> {
        Ok(MeasuringStore { _lock: store.lock_measuring()?, store })
    }
}
