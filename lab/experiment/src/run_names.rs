//! Finds a run by a name: its number, its label, or the commit that it measured. If several have the name, the newest one.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::record::RunId;
use faultline_store::{Store, StoreErrorKind};

/// The run with the name `text`. Digits that are not a run's number may be a label or a commit. Fails if there is none.
pub fn find_run(text: &str, places: &Places) -> Result<RunId, Error> {
    Ok(found(text, places)?.newest)
}

/// Like [`find_run`], for actions that cannot be undone: it also fails if several runs have the name.
pub fn find_the_run(text: &str, places: &Places) -> Result<RunId, Error> {
    let Found { newest, others } = found(text, places)?;
    if others.is_empty() {
        return Ok(newest);
    }
    let numbers = [newest].iter().chain(&others).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(Error::usage(format!("several runs are called '{text}': {numbers}"), "name them by their numbers"))
}

/// The runs with one name.
struct Found {
    newest: RunId,
    others: Vec<RunId>,
}

fn found(text: &str, places: &Places) -> Result<Found, Error> {
    let number = text.parse().ok().map(RunId);
    let store = match number {
        Some(_) => database::existing(places)?,
        None => database::if_there(places)?.ok_or_else(|| unknown(text))?,
    };
    let Some(number) = number else { return named(text, &store)?.ok_or_else(|| unknown(text)) };
    match store.load_head(number) {
        Ok(_) => Ok(Found { newest: number, others: Vec::new() }),
        Err(error) if error.kind == StoreErrorKind::NoSuchRun => named(text, &store)?.ok_or_else(|| error.into()),
        Err(error) => Err(error.into()),
    }
}

fn named(text: &str, store: &Store) -> Result<Option<Found>, Error> {
    let mut runs = store.runs_labelled(text)?;
    if runs.is_empty() {
        runs = store.runs_of_commit(text)?.into_iter().map(|of_commit| of_commit.run).collect();
        runs.dedup();
    }
    let mut runs = runs.into_iter();
    Ok(runs.next().map(|newest| Found { newest, others: runs.collect() }))
}

fn unknown(text: &str) -> Error {
    Error::usage(
        format!("there is no run '{text}'"),
        "a run is named by its number, label or commit; `faultline list` shows them",
    )
}
