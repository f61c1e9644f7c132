//! Deletes runs from the database.

use crate::database::MeasuringStore;
use crate::error::Error;
use crate::places::Places;
use faultline_model::record::RunId;

/// Deletes these runs, all or none. An error if one of them is not there, or while anybody measures into the database.
pub fn delete(runs: &[RunId], places: &Places) -> Result<(), Error> {
    Ok(MeasuringStore::open_existing(places)?.store.delete_runs(runs)?)
}
