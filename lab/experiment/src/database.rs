//! The database, opened for reading or for measuring.

use crate::error::Error;
use crate::places::Places;
use faultline_store::{MeasuringLock, Store};

/// The existing database, for reading. Fails if it does not exist or cannot be read.
pub(crate) fn existing(places: &Places) -> Result<Store, Error> {
    Ok(Store::open_to_read(places.database()?)?)
}

/// Fails if measurements could not be saved: if the database, or where it would be created, cannot be written. Nothing is created.
pub fn check_writable(places: &Places) -> Result<(), Error> {
    Ok(Store::check_writable(places.database()?)?)
}

/// A database into which no other process measures at the moment.
pub(crate) struct MeasuringStore {
    _lock: MeasuringLock,
    /// The database.
    pub(crate) store: Store,
}

impl MeasuringStore {
    /// Opens the database, or creates it. Fails if it cannot be opened or written, or if another process measures into it.
    pub(crate) fn open_or_create(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_or_create(places.database()?)?)
    }

    /// Opens the existing database. Fails if it does not exist, cannot be written, or if another process measures into it.
    pub(crate) fn open_existing(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_existing(places.database()?)?)
    }

    fn lock(store: Store) -> Result<Self, Error> {
        Ok(MeasuringStore { _lock: MeasuringLock::take(store.path())?, store })
    }
}
