//! Runs as they are in the store.

use crate::failure::Failure;
use crate::places;
use faultline_model::record::{RunId, RunRecord};
use std::path::Path;

/// The run with that number, or the newest.
pub(super) fn load(run: Option<i64>, db: Option<&Path>) -> Result<RunRecord, Failure> {
    let store = places::existing_store(db)?;
    let id = match run {
        Some(id) => RunId(id),
        None => store.newest_run()?.ok_or_else(|| {
            Failure::new(format!("there is no run in {} yet", store.path().display()), "`faultline run` makes one")
        })?,
    };
    Ok(store.load_run(id)?)
}
