//! What goes by a name: a run by its number, label or commit, an import, or a file.

use super::Source;
use super::files::read;
use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_exchange::Format as Foreign;
use faultline_model::dataset::Dataset;
use faultline_model::record::{RunHead, RunId};
use faultline_model::subject::SubjectIndex;
use faultline_stats::datasets;
use faultline_store::StoreErrorKind;
use std::path::Path;

/// What is there under a name, not loaded yet if it is a run.
pub(super) enum Found {
    /// A run of ours.
    Run(RunHead),
    /// What a run measured of one of its subjects: the one built from a commit.
    Subject(RunHead, SubjectIndex),
    /// Another tool's figures.
    Figures(Dataset),
}

impl Found {
    /// Loads it.
    pub(super) fn load(self, places: &Places) -> Result<Source, Error> {
        let load = |head: &RunHead| database::existing(places)?.load_run(head.id).map_err(Error::from);
        Ok(match self {
            Found::Run(head) => Source::Run(Box::new(load(&head)?)),
            Found::Subject(head, subject) => {
                let record = load(&head)?;
                Source::Figures(match record.settings.comparison() {
                    Some(_) if subject == SubjectIndex::A => datasets::sides(&record).0,
                    Some(_) => datasets::sides(&record).1,
                    None => datasets::of_subject(&record, subject),
                })
            }
            Found::Figures(dataset) => Source::Figures(dataset),
        })
    }
}

/// What goes by a name or a run's number, without a part of it.
pub(super) fn find(text: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
    match text.parse::<i64>() {
        Ok(number) if from.is_none() => {
            let loaded = database::existing(places)?.load_head(RunId(number));
            match loaded {
                Ok(head) => Ok(Some(Found::Run(with_one_set_of_figures(head)?))),
                // A commit's name may have no letters.
                Err(error) if error.kind == StoreErrorKind::NoSuchRun => match named(text, from, places)? {
                    Some(found) => Ok(Some(found)),
                    None => Err(error.into()),
                },
                Err(error) => Err(error.into()),
            }
        }
        _ => named(text, from, places),
    }
}

/// The run with that number. Fails if it does not exist, or has figures of many commits.
pub(super) fn stored_run(run: RunId, places: &Places) -> Result<RunHead, Error> {
    with_one_set_of_figures(database::existing(places)?.load_head(run)?)
}

/// What goes by a name: a file, an import, a label, a commit, in this order.
fn named(name: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
    let path = Path::new(name);
    if path.exists() {
        return Ok(Some(Found::Figures(read(path, from)?.1)));
    }
    let Some(store) = database::if_there(places)? else { return Ok(None) };
    if let Some(dataset) = store.load_dataset(name)? {
        return Ok(Some(Found::Figures(dataset)));
    }
    if let Some(&run) = store.runs_labelled(name)?.first() {
        return Ok(Some(Found::Run(with_one_set_of_figures(store.load_head(run)?)?)));
    }
    let Some(newest) = store.runs_of_commit(name)?.into_iter().next() else { return Ok(None) };
    let head = store.load_head(newest.run)?;
    Ok(Some(match head.subjects.len() {
        1 => Found::Run(head),
        _ => Found::Subject(head, newest.subject),
    }))
}

/// The run, unless it has figures of many commits. Fails if it has.
fn with_one_set_of_figures(head: RunHead) -> Result<RunHead, Error> {
    match head.settings.measured_line() {
        None => Ok(head),
        Some(_) => Err(Error::usage(
            format!("run {} measured commits of a repository, and has figures of many", head.id),
            format!("name a commit that it measured; `faultline show {}` shows what it found", head.id),
        )),
    }
}
