//! An operand of a comparison or export, resolved to figures: a run of ours by number, label or
//! commit, an import by name, or a file or directory of another tool. A suffix names a part of it.

use crate::error::Error;
use crate::places::Places;
use crate::{database, published};
use faultline_exchange::{Files, Format, Format as Foreign, ReadError};
use faultline_record::dataset::{Dataset, Series};
use faultline_record::record::{RunHead, RunId, RunRecord};
use faultline_record::subject::SubjectIndex;
use faultline_runner::Clock;
use faultline_stats::datasets;
use faultline_store::{Store, StoreErrorKind};
use faultline_targets::search_path::is_executable;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Named figures.
pub struct Operand {
    /// The name as given.
    pub name: String,
    /// The source.
    pub source: Source,
}

/// A source of figures.
pub enum Source {
    /// A run of ours.
    Run(Box<RunRecord>),
    /// Another tool's figures.
    Figures(Dataset),
}

impl Operand {
    /// Its figures.
    pub fn dataset(&self) -> Dataset {
        match &self.source {
            Source::Run(record) if record.settings.comparison().is_some() => both_sides(record),
            Source::Run(record) => datasets::dataset(record),
            Source::Figures(dataset) => dataset.clone(),
        }
    }
}

/// Finds what `text` names. Files precede names in the database.
pub fn resolve(text: &str, from: Option<Foreign>, places: &Places) -> Result<Operand, Error> {
    if let Some(found) = find(text, from, places)? {
        let name = match &found {
            Found::Run(head) if head.id.to_string() == text => format!("run {text}"),
            _ => text.to_owned(),
        };
        return Ok(Operand { name, source: found.load(places)? });
    }
    if let Some((file, benchmark)) = file_and_benchmark(text) {
        let dataset = one_benchmark(read(Path::new(file), from)?.1, file, benchmark)?;
        return Ok(Operand { name: text.to_owned(), source: Source::Figures(dataset) });
    }
    let Some((holder, part)) = text.rsplit_once('@') else { return Err(unknown(text)) };
    let dataset = match find(holder, from, places)?.ok_or_else(|| unknown(holder))?.load(places)? {
        Source::Run(record) if record.settings.comparison().is_some() => side(&record, part)?,
        source => {
            let dataset = Operand { name: String::new(), source }.dataset();
            datasets::at_commit(&dataset, part)
                .map_err(|error| Error::usage(format!("{holder}: {error}"), "give the beginning of a commit's name"))?
        }
    };
    Ok(Operand { name: text.to_owned(), source: Source::Figures(dataset) })
}

/// A run of ours by its number alone, which never names a file. Fails if it does not exist, or has
/// figures of many commits.
pub(crate) fn stored_run(run: RunId, places: &Places) -> Result<Operand, Error> {
    run_with_figures(run, places)?;
    let record = database::existing(places)?.load_run_without_samples(run)?;
    Ok(Operand { name: format!("run {run}"), source: Source::Run(Box::new(record)) })
}

/// The runs that two names mean, for a comparison with each other: the totals of each execution
/// decide it, so the samples are not loaded. `None` if a name means something else.
pub(crate) fn totals_of_runs(names: [&str; 2], places: &Places) -> Result<Option<[Operand; 2]>, Error> {
    let mut runs = Vec::new();
    for name in names {
        let Some(head) = run(name, places)? else { return Ok(None) };
        let name = if head.id.to_string() == name { format!("run {name}") } else { name.to_owned() };
        runs.push((head.id, name));
    }
    let store = database::existing(places)?;
    let loaded = runs.into_iter().map(|(run, name)| {
        let source = Source::Run(Box::new(store.load_run_without_samples(run)?));
        Ok(Operand { name, source })
    });
    Ok(loaded.collect::<Result<Vec<_>, Error>>()?.try_into().ok())
}

/// True if `text` names figures. A run's number counts even if the run does not exist.
pub(crate) fn names_something(text: &str, places: &Places) -> Result<bool, Error> {
    if text.parse::<i64>().is_ok() || is_standard_input(Path::new(text)) || file_and_benchmark(text).is_some() {
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

/// The run that `text` names, without its samples; `None` for other names.
pub(crate) fn run(text: &str, places: &Places) -> Result<Option<RunHead>, Error> {
    // Standard input can be read only once, and is never a run.
    if is_standard_input(Path::new(text)) {
        return Ok(None);
    }
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

/// Benchmarks that a hint names.
const NAMES_SHOWN: usize = 6;

/// Splits a file name and a suffix after a colon.
pub(super) fn file_and_benchmark(text: &str) -> Option<(&str, &str)> {
    let colons = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    colons.into_iter().find(|(file, benchmark)| !benchmark.is_empty() && Path::new(file).is_file())
}

/// One benchmark of a file, by its name or by its place from 1.
pub(super) fn one_benchmark(dataset: Dataset, file: &str, benchmark: &str) -> Result<Dataset, Error> {
    let names = benchmarks(&dataset);
    let by_place = benchmark.parse::<usize>().ok().and_then(|place| names.get(place.checked_sub(1)?));
    let Some(name) = names.iter().find(|name| *name == benchmark).or(by_place).cloned() else {
        let there: Vec<String> =
            names.iter().zip(1..).take(NAMES_SHOWN).map(|(name, place)| format!("{place}: {name}")).collect();
        return Err(Error::usage(
            format!("{file} has no benchmark '{benchmark}'"),
            format!("it has {}; give a number or a name, for example {file}:1", there.join(", ")),
        ));
    };
    let series = dataset.series.into_iter().filter(|series| series.name == name).collect();
    Ok(Dataset { series, ..dataset })
}

/// The names of the benchmarks, each once, in their order.
pub(crate) fn benchmarks(dataset: &Dataset) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for series in &dataset.series {
        if !names.contains(&series.name) {
            names.push(series.name.clone());
        }
    }
    names
}

/// The figures of both sides of a run; each benchmark has the letter of its side.
pub(super) fn both_sides(record: &RunRecord) -> Dataset {
    let (mut both, b) = datasets::sides(record);
    let lettered = |series: Series, letter: &str| Series { name: format!("{} {letter}", series.name), ..series };
    both.series = both.series.into_iter().map(|series| lettered(series, "A")).collect();
    both.series.extend(b.series.into_iter().map(|series| lettered(series, "B")));
    both
}

/// One side of a comparison, by its letter. Fails if there is no such side.
pub(super) fn side(record: &RunRecord, side: &str) -> Result<Dataset, Error> {
    let (a, b) = datasets::sides(record);
    match SubjectIndex::from_letter(side) {
        Some(SubjectIndex::A) => Ok(a),
        Some(SubjectIndex::B) => Ok(b),
        Some(_) | None => Err(Error::usage(
            format!("run {} is a comparison and has no side '{side}'", record.id),
            format!("its sides are {id}@a and {id}@b", id = record.id),
        )),
    }
}

/// A named thing; a run is not loaded yet.
pub(super) enum Found {
    /// A run of ours.
    Run(RunHead),
    /// A run's subject that was built from a commit.
    Subject(RunHead, SubjectIndex),
    /// Another tool's figures.
    Figures(Dataset),
}

impl Found {
    /// Loads the figures.
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

/// The thing with a name or a run's number, without suffix.
pub(super) fn find(text: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
    if let Some(dataset) = published::dataset(text) {
        return Ok(Some(Found::Figures(dataset?)));
    }
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
fn run_with_figures(run: RunId, places: &Places) -> Result<RunHead, Error> {
    with_one_set_of_figures(database::existing(places)?.load_head(run)?)
}

/// The thing with a name: a file, an import, a label, or a commit, in this order.
fn named(name: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
    let path = Path::new(name);
    if is_standard_input(path) || path.exists() {
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

/// The run. Fails if it has figures of many commits.
fn with_one_set_of_figures(head: RunHead) -> Result<RunHead, Error> {
    match head.settings.measured_line() {
        None => Ok(head),
        Some(_) => Err(Error::usage(
            format!("run {} measured commits of a repository, and has figures of many", head.id),
            format!("name a commit that it measured; `faultline show {}` shows what it found", head.id),
        )),
    }
}

/// Bytes that show whether a file is text.
const BEGINNING_BYTES: u64 = 4096;

/// Maximum number of files of a directory: a long asv history.
const MOST_FILES: usize = 100_000;

/// Maximum depth of a directory.
const MOST_DEPTH: usize = 16;

/// True if the format of a file is known.
pub(crate) fn is_known_format(path: &Path) -> bool {
    let found = files(path).map(|files| faultline_exchange::recognise(&files));
    matches!(found, Ok(Ok(_) | Err(ReadError::Ambiguous { .. })))
}

/// The figures of a file or directory, and their format.
pub fn read(path: &Path, from: Option<Foreign>) -> Result<(Foreign, Dataset), Error> {
    let files = files(path)?;
    let found = match from {
        Some(format) => faultline_exchange::read(&files, from).map(|dataset| (format, dataset)),
        None => faultline_exchange::read_any(&files),
    };
    found.map_err(|error| match error {
        ReadError::Unrecognised { .. } if is_program(path) => program(path),
        error => Error::usage(error.to_string(), error.hint()),
    })
}

fn program(path: &Path) -> Error {
    Error::usage(
        format!("{} is a program, not a file of figures", path.display()),
        "compare two programs as commands: `faultline compare './old ARGS' './new ARGS'`",
    )
}

/// True if the file is executable or contains bytes that do not occur in text.
fn is_program(path: &Path) -> bool {
    path.is_file() && (is_executable(path) || read_most(path, BEGINNING_BYTES).is_ok_and(|bytes| bytes.contains(&0)))
}

/// True for `-`, the name of standard input.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file or directory with its content; standard input for `-`. More than
/// [`Files::LIMIT_BYTES`] is refused with its size, unread.
fn files(path: &Path) -> Result<Files, Error> {
    match is_standard_input(path) {
        true => standard_input(),
        false if path.is_dir() => directory(path),
        false => file(path),
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::usage(format!("cannot read {}: {error}", path.display()), "name a file or directory that can be read")
}

fn too_large(path: &Path, bytes: Option<u64>) -> Error {
    let error = ReadError::too_large(path.display().to_string(), bytes, Files::LIMIT_BYTES);
    Error::usage(error.to_string(), error.hint())
}

fn file(path: &Path) -> Result<Files, Error> {
    let size = path.metadata().map_err(|error| unreadable(path, &error))?.len();
    if size > Files::LIMIT_BYTES {
        return Err(if is_executable(path) { program(path) } else { too_large(path, Some(size)) });
    }
    let bytes = read_most(path, Files::LIMIT_BYTES + 1).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > Files::LIMIT_BYTES {
        // A pipe or device has no known size.
        return Err(too_large(path, None));
    }
    Ok(Files::one(path.display().to_string(), bytes))
}

fn standard_input() -> Result<Files, Error> {
    let name = "standard input";
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(Files::LIMIT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(Path::new(name), &error))?;
    if bytes.len() as u64 > Files::LIMIT_BYTES {
        return Err(too_large(Path::new(name), None));
    }
    Ok(Files::one(name, bytes))
}

fn directory(path: &Path) -> Result<Files, Error> {
    let found = files_below(path)?;
    let size = found.iter().map(|(_, size)| size).sum();
    if size > Files::LIMIT_BYTES {
        return Err(too_large(path, Some(size)));
    }
    let mut contents = Vec::with_capacity(found.len());
    for (file, size) in found {
        let bytes = read_most(&file, size).map_err(|error| unreadable(&file, &error))?;
        let relative = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        contents.push((relative, bytes));
    }
    Ok(Files::directory(path.display().to_string(), contents))
}

/// The files below a directory with their sizes.
fn files_below(path: &Path) -> Result<Vec<(PathBuf, u64)>, Error> {
    let mut found = Vec::new();
    let mut waiting: Vec<(PathBuf, usize)> = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let kind = entry.metadata().map_err(|error| unreadable(&entry.path(), &error))?;
            if kind.is_dir() && depth < MOST_DEPTH {
                waiting.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                found.push((entry.path(), kind.len()));
                if found.len() > MOST_FILES {
                    return Err(unreadable(path, &"it holds over 100,000 files"));
                }
            }
        }
    }
    Ok(found)
}

/// The first `most` bytes of a file, which may be endless.
fn read_most(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The request to import figures.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// A file or directory; `-` is standard input.
    pub file: PathBuf,
    /// Its format; detected from the content if `None`.
    pub from: Option<Format>,
    /// Name in the database; the file's if `None`.
    pub name: Option<String>,
}

/// Imported figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Its name.
    pub name: String,
    /// The format it was read from.
    pub format: Format,
    /// The figures.
    pub dataset: Dataset,
}

/// Imports figures, with the time of reading.
pub fn import(request: &ImportRequest, places: &Places, clock: &dyn Clock) -> Result<Imported, Error> {
    let file = &request.file;
    if !is_standard_input(file) && file.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Err(Error::usage(
            format!("there is no file {}", file.display()),
            "name a file or directory that another tool wrote; `-` is standard input",
        ));
    }
    database::check_directory(places.database()?)?;
    let (format, dataset) = read(file, request.from)?;
    let name = match &request.name {
        Some(name) => name.clone(),
        None if is_standard_input(file) => "import".to_owned(),
        None => file.file_name().map_or_else(|| "import".to_owned(), |name| name.to_string_lossy().into_owned()),
    };
    check_name(&name)?;
    let mut store = Store::open_or_create(places.database()?)?;
    store.save_dataset(&name, format.name(), clock.now(), &dataset)?;
    Ok(Imported { name, format, dataset })
}

/// Refuses names that mean something else.
fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = !name.trim().is_empty() && name.trim() == name && !name.contains(char::is_control);
    if !is_plain || name.parse::<i64>().is_ok() || name.contains('@') {
        return Err(Error::usage(
            format!(
                "'{name}' cannot be a name: a name is not a number, and has no '@', no control characters, and no blanks at its ends"
            ),
            "`--name NAME` gives another name",
        ));
    }
    Ok(())
}
