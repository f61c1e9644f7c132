//! An operand: what a user's words name that holds figures. Comparisons and exports take operands; each is resolved once, here, to the figures themselves.
//!
//! It is a run of ours by its number, label or commit, an import by its name (`by_name`), or a file or directory of another tool (`files`). A part of one
//! of these is named by `@COMMIT` where it holds history, by `@a` and `@b` where it has sides, and by `:BENCHMARK` in a file (`part`).

mod by_name;
mod files;
mod part;

pub(crate) use files::is_known_format;
pub use files::read;
pub(crate) use part::benchmarks;

use crate::error::Error;
use crate::places::Places;
use by_name::{Found, find};
use faultline_exchange::Format as Foreign;
use faultline_model::dataset::Dataset;
use faultline_model::record::{RunHead, RunId, RunRecord};
use faultline_stats::datasets;
use std::path::Path;

/// Something that holds figures.
pub struct Operand {
    /// As it was named.
    pub name: String,
    /// What it is.
    pub source: Source,
}

/// What figures come from.
pub enum Source {
    /// A run of ours.
    Run(Box<RunRecord>),
    /// Another tool's figures.
    Figures(Dataset),
}

impl Operand {
    /// Its figures, whatever they come from.
    pub fn dataset(&self) -> Dataset {
        match &self.source {
            Source::Run(record) if record.settings.comparison().is_some() => part::both_sides(record),
            Source::Run(record) => datasets::dataset(record),
            Source::Figures(dataset) => dataset.clone(),
        }
    }
}

/// Finds what `text` names. A file goes before a name that is kept in the database.
pub fn resolve(text: &str, from: Option<Foreign>, places: &Places) -> Result<Operand, Error> {
    if let Some(found) = find(text, from, places)? {
        let name = match &found {
            Found::Run(head) if head.id.to_string() == text => format!("run {text}"),
            _ => text.to_owned(),
        };
        return Ok(Operand { name, source: found.load(places)? });
    }
    if let Some((file, benchmark)) = part::file_and_benchmark(text) {
        let dataset = part::one_benchmark(read(Path::new(file), from)?.1, file, benchmark)?;
        return Ok(Operand { name: text.to_owned(), source: Source::Figures(dataset) });
    }
    let Some((holder, part)) = text.rsplit_once('@') else { return Err(unknown(text)) };
    let dataset = match find(holder, from, places)?.ok_or_else(|| unknown(holder))?.load(places)? {
        Source::Run(record) if record.settings.comparison().is_some() => part::side(&record, part)?,
        source => {
            let dataset = Operand { name: String::new(), source }.dataset();
            datasets::at_commit(&dataset, part)
                .map_err(|error| Error::usage(format!("{holder}: {error}"), "give the beginning of a commit's name"))?
        }
    };
    Ok(Operand { name: text.to_owned(), source: Source::Figures(dataset) })
}

/// A run of ours by its number alone, which never names a file. Fails if it does not exist, or has figures of many commits.
pub(crate) fn stored_run(run: RunId, places: &Places) -> Result<Operand, Error> {
    let found = Found::Run(by_name::stored_run(run, places)?);
    Ok(Operand { name: format!("run {run}"), source: found.load(places)? })
}

/// Whether `text` names something that holds figures. A run's number counts, whether the run is there or not.
pub(crate) fn names_something(text: &str, places: &Places) -> Result<bool, Error> {
    if text.parse::<i64>().is_ok() || part::file_and_benchmark(text).is_some() {
        return Ok(true);
    }
    let holder = text.rsplit_once('@').map(|(holder, _)| holder);
    for name in [Some(text), holder].into_iter().flatten() {
        if Path::new(name).exists() || find(name, None, places)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The run that `text` names, without what was measured; none if it names something else, or nothing.
pub(crate) fn run(text: &str, places: &Places) -> Result<Option<RunHead>, Error> {
    Ok(match find(text, None, places)? {
        Some(Found::Run(head)) => Some(head),
        Some(Found::Subject(..) | Found::Figures(_)) | None => None,
    })
}

fn unknown(text: &str) -> Error {
    Error::usage(
        format!("there is no file, run or import '{text}'"),
        "give a run's number or label (`faultline list`), a commit, a file or directory, or the name of an import (`faultline import`)",
    )
}
