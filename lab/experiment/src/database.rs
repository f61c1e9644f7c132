//! The database: opened to read, or to measure into.

use crate::error::Error;
use crate::places::Places;
use faultline_store::{MeasuringLock, Store};

/// The database, which has to be there, to read it.
pub(crate) fn existing(places: &Places) -> Result<Store, Error> {
    Ok(Store::open_to_read(places.database()?)?)
}

/// A database into which nobody else measures for now.
pub(crate) struct MeasuringStore {
    _lock: MeasuringLock,
    /// The database.
    pub(crate) store: Store,
}

impl MeasuringStore {
    /// Opens the database, and makes one where there is none.
    pub(crate) fn open_or_create(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_or_create(places.database()?)?)
    }

    /// Opens the database, which has to be there.
    pub(crate) fn open_existing(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_existing(places.database()?)?)
    }

    fn lock(store: Store) -> Result<Self, Error> {
        Ok(MeasuringStore { _lock: MeasuringLock::take(store.path())?, store })
    }
}
