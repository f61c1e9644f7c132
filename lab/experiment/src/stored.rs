//! What is in the database: runs, concluded anew from what is saved, and imports.

use crate::conclusion::Conclusion;
use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::imported::ImportedLine;
use faultline_model::record::{RunId, RunLine, RunRecord};

/// A run's conclusion; the newest run's unless one is named.
pub fn conclusion(run: Option<RunId>, places: &Places) -> Result<Conclusion, Error> {
    let store = database::existing(places)?;
    Conclusion::of(load_from(&store, run)?, store.path())
}

/// A run as it is saved; the newest unless one is named.
pub fn load(run: Option<RunId>, places: &Places) -> Result<RunRecord, Error> {
    load_from(&database::existing(places)?, run)
}

/// A line for each run, the oldest first.
pub fn runs(places: &Places) -> Result<Vec<RunLine>, Error> {
    Ok(database::existing(places)?.list_runs()?)
}

/// A line for each import.
pub fn imports(places: &Places) -> Result<Vec<ImportedLine>, Error> {
    Ok(database::existing(places)?.list_datasets()?)
}

fn load_from(store: &faultline_store::Store, run: Option<RunId>) -> Result<RunRecord, Error> {
    let id = match run {
        Some(id) => id,
        None => store.newest_run()?.ok_or_else(|| {
            Error::failed(format!("there is no run in {} yet", store.path().display()), "`faultline run` makes one")
        })?,
    };
    Ok(store.load_run(id)?)
}
