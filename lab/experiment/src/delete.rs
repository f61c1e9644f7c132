//! Deletes runs from the database.

use crate::database::MeasuringStore;
use crate::error::Error;
use crate::places::Places;
use faultline_model::record::RunId;

/// Deletes all of these runs, or none. Fails if one of them does not exist, or while a process measures into the database.
pub fn delete(runs: &[RunId], places: &Places) -> Result<(), Error> {
    Ok(MeasuringStore::open_existing(places)?.store.delete_runs(runs)?)
}
