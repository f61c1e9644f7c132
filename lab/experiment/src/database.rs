//! The database: opened for reading or for measuring. Runs are found by number, label or measured
//! commit, the newest first, and are deleted here.

use crate::error::Error;
use crate::places::Places;
use faultline_record::record::RunId;
use faultline_store::{MachineLock, Store, StoreErrorKind};
use std::path::Path;

pub use faultline_store::{Checked, Copied, CopyProgress};

/// The existing database, for reading. Fails if it does not exist or cannot be read.
pub(crate) fn existing(places: &Places) -> Result<Store, Error> {
    Ok(Store::open_to_read(places.database()?)?)
}

/// The existing database; `None` if it does not exist.
pub(crate) fn if_there(places: &Places) -> Result<Option<Store>, Error> {
    Ok(Store::open_to_read_if_there(places.database()?)?)
}

/// Fails if measurements could not be saved: if the database, or the directory where it would be
/// created, cannot be written. Creates nothing.
pub fn check_writable(places: &Places) -> Result<(), Error> {
    check_directory(places.database()?)?;
    Ok(Store::check_writable(places.database()?)?)
}

/// Fails if a database that the user named has no directory: a mistyped path must not create one.
/// The default directory is created with its database.
pub(crate) fn check_directory(database: &Path) -> Result<(), Error> {
    let is_missing =
        |directory: &&Path| !directory.as_os_str().is_empty() && matches!(directory.try_exists(), Ok(false));
    let is_default = || Places::find().is_ok_and(|usual| usual.database.as_deref() == Some(database));
    match faultline_store::directory_beside(database).filter(is_missing) {
        Some(directory) if !is_default() => Err(Error::usage(
            format!("there is no directory {} for the database", directory.display()),
            "make it with `mkdir`, or name a file elsewhere",
        )),
        _ => Ok(()),
    }
}

/// Copies a database, a path or URL, into an empty one, which is created if it does not exist.
/// Fails, without copying anything, if the target holds anything or cannot be written, or if the
/// source does not exist or cannot be read.
pub fn copy_database(from: &Path, to: &Path, progress: &mut dyn FnMut(CopyProgress)) -> Result<Copied, Error> {
    check_directory(to)?;
    Ok(faultline_store::copy(from, to, progress)?)
}

/// Compares all saved executions with their checksums. Fails if the database does not exist or
/// cannot be read.
pub fn check_database(places: &Places) -> Result<Checked, Error> {
    Ok(existing(places)?.check_executions()?)
}

/// A database into which no other process of this machine is measuring.
pub(crate) struct MeasuringStore {
    _lock: MachineLock,
    /// The database.
    pub(crate) store: Store,
}

impl MeasuringStore {
    /// Opens the database, or creates it. Fails if it cannot be opened or written, or if another
    /// process of this machine measures into it.
    pub(crate) fn open_or_create(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_or_create(places.database()?)?)
    }

    /// Opens the existing database. Fails if it does not exist, cannot be written, or if another
    /// process of this machine measures into it.
    pub(crate) fn open_existing(places: &Places) -> Result<Self, Error> {
        Self::lock(Store::open_existing(places.database()?)?)
    }

    fn lock(store: Store) -> Result<Self, Error> {
        Ok(MeasuringStore { _lock: store.lock_measuring()?, store })
    }
}

/// Deletes all of these runs, or none. Fails if one of them does not exist, or while a process
/// measures into the database.
pub fn delete(runs: &[RunId], places: &Places) -> Result<(), Error> {
    Ok(MeasuringStore::open_existing(places)?.store.delete_runs(runs)?)
}

/// The run with the name `text`. Digits that are not a run's number may be a label or a commit.
/// Fails if there is none.
pub fn find_run(text: &str, places: &Places) -> Result<RunId, Error> {
    Ok(found(text, places)?.newest)
}

/// Like [`find_run`], for actions that cannot be undone: it also fails if several runs have the
/// name.
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
        Some(_) => existing(places)?,
        None => if_there(places)?.ok_or_else(|| unknown(text))?,
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
