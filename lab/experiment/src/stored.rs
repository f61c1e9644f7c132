//! The contents of the database: runs with their conclusions, and imports.

use crate::conclusion::{Concluded, Conclusion};
use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::facts::Facts;
use faultline_model::imported::ImportedLine;
use faultline_model::record::{RunId, RunLine, RunRecord};
use faultline_model::summary::RunSummary;
use faultline_store::Store;

/// A run's conclusion; the newest run's if `None`. Fails if there is no such run, if it cannot be concluded, or if the database cannot be read.
pub fn conclusion(run: Option<RunId>, places: &Places) -> Result<Conclusion, Error> {
    let mut store = database::existing(places)?;
    let run = match run {
        Some(run) => run,
        None => newest(&store)?,
    };
    Conclusion::of(&mut store, run)
}

/// A run's figures; for a comparison, those of both sides together. Fails if there is no such run, or if the database cannot be read.
pub fn figures(run: RunId, places: &Places) -> Result<RunSummary, Error> {
    let mut store = database::existing(places)?;
    if store.load_head(run)?.settings.comparison().is_none()
        && let Concluded::Figures(summary) = Conclusion::of(&mut store, run)?.what
    {
        return Ok(*summary);
    }
    Ok(faultline_stats::summarise(&store.load_run(run)?))
}

/// A saved run. Fails if there is no such run, or if the database cannot be read.
pub fn load(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    Ok(database::existing(places)?.load_run(run)?)
}

/// The facts about the first subject's machine when a run began. Fails if there is no such run, or if the database cannot be read.
pub fn facts(run: RunId, places: &Places) -> Result<Facts, Error> {
    Ok(database::existing(places)?.load_head(run)?.facts().cloned().unwrap_or_default())
}

/// A line for each run, the newest first. Fails if the database cannot be read.
pub fn runs(places: &Places) -> Result<Vec<RunLine>, Error> {
    Ok(database::existing(places)?.list_runs()?)
}

/// A line for each import. Fails if the database cannot be read.
pub fn imports(places: &Places) -> Result<Vec<ImportedLine>, Error> {
    Ok(database::existing(places)?.list_datasets()?)
}

fn newest(store: &Store) -> Result<RunId, Error> {
    store.newest_run()?.ok_or_else(|| {
        Error::usage(format!("there is no run in {} yet", store.path().display()), "`faultline run` makes one")
    })
}
