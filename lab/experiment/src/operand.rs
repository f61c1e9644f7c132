//! What a user's words name: a run by number, label or commit, a file or directory of any format that is known, or figures taken in before; each with
//! `@COMMIT` where it holds history.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_exchange::{Files, Format as Foreign, ReadError};
use faultline_model::dataset::{Dataset, Series};
use faultline_model::record::{RunHead, RunId, RunRecord};
use faultline_model::subject::SubjectIndex;
use faultline_stats::datasets;
use faultline_store::StoreErrorKind;
use faultline_targets::search_path::is_executable;
use std::io::Read;
use std::path::{Path, PathBuf};

/// As much of a file as shows whether it is text.
const BEGINNING_BYTES: u64 = 4096;

/// Most files of a directory: a long history of asv's.
const MOST_FILES: usize = 100_000;

/// How far below the directory files are looked for.
const MOST_DEPTH: usize = 16;

/// Benchmarks that a hint names.
const NAMES_SHOWN: usize = 6;

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
            Source::Run(record) if record.settings.comparison().is_some() => both_sides(record),
            Source::Run(record) => datasets::dataset(record),
            Source::Figures(dataset) => dataset.clone(),
        }
    }
}

/// Finds what `text` names. A file goes before a name that is kept in the database.
pub fn resolve(text: &str, from: Option<Foreign>, places: &Places) -> Result<Operand, Error> {
    if let Some(found) = whole(text, from, places)? {
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
    let dataset = match whole(holder, from, places)?.ok_or_else(|| unknown(holder))?.load(places)? {
        Source::Run(record) if record.settings.comparison().is_some() => one_side(&record, part)?,
        source => {
            let dataset = Operand { name: String::new(), source }.dataset();
            datasets::at_commit(&dataset, part)
                .map_err(|error| Error::usage(format!("{holder}: {error}"), "give the beginning of a commit's name"))?
        }
    };
    Ok(Operand { name: text.to_owned(), source: Source::Figures(dataset) })
}

/// Whether `text` names something that holds figures. A run's number counts, whether the run is there or not.
pub(crate) fn names_something(text: &str, places: &Places) -> Result<bool, Error> {
    if text.parse::<i64>().is_ok() || file_and_benchmark(text).is_some() {
        return Ok(true);
    }
    let holder = text.rsplit_once('@').map(|(holder, _)| holder);
    for name in [Some(text), holder].into_iter().flatten() {
        if Path::new(name).exists() || whole(name, None, places)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the file is in a format that can be read.
pub(crate) fn is_known_format(path: &Path) -> bool {
    let found = files(path).map(|files| faultline_exchange::recognise(&files));
    matches!(found, Ok(Ok(_) | Err(ReadError::Ambiguous { .. })))
}

/// A file and what follows it after a colon.
fn file_and_benchmark(text: &str) -> Option<(&str, &str)> {
    let colons = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    colons.into_iter().find(|(file, benchmark)| !benchmark.is_empty() && Path::new(file).is_file())
}

/// One benchmark of a file, by its name or by its place from 1.
fn one_benchmark(dataset: Dataset, file: &str, benchmark: &str) -> Result<Dataset, Error> {
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

/// A run that has two sides as one set of figures, each benchmark with the letter of its side.
fn both_sides(record: &RunRecord) -> Dataset {
    let (mut both, b) = datasets::sides(record);
    let lettered = |series: Series, letter: &str| Series { name: format!("{} {letter}", series.name), ..series };
    both.series = both.series.into_iter().map(|series| lettered(series, "A")).collect();
    both.series.extend(b.series.into_iter().map(|series| lettered(series, "B")));
    both
}

fn one_side(record: &RunRecord, side: &str) -> Result<Dataset, Error> {
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

/// What is there under a name, not loaded yet if it is a run.
enum Found {
    /// A run of ours.
    Run(RunHead),
    /// What a run measured of one of its subjects: the one built from a commit.
    Subject(RunHead, SubjectIndex),
    /// Another tool's figures.
    Figures(Dataset),
}

impl Found {
    fn load(self, places: &Places) -> Result<Source, Error> {
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

/// The run that `text` names, without what was measured; none if it names something else, or nothing.
pub(crate) fn run(text: &str, places: &Places) -> Result<Option<RunHead>, Error> {
    Ok(match whole(text, None, places)? {
        Some(Found::Run(head)) => Some(head),
        Some(Found::Subject(..) | Found::Figures(_)) | None => None,
    })
}

/// What goes by a name or a run's number, without a part of it.
fn whole(text: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
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

fn unknown(text: &str) -> Error {
    Error::usage(
        format!("there is no file, run or import '{text}'"),
        "give a run's number or label (`faultline list`), a commit, a file or directory, or the name of an import (`faultline import`)",
    )
}

/// What goes by a name: a file, an import, a label, a commit, in this order.
fn named(name: &str, from: Option<Foreign>, places: &Places) -> Result<Option<Found>, Error> {
    let path = Path::new(name);
    if path.exists() {
        return Ok(Some(Found::Figures(read(path, from)?.1)));
    }
    if !places.database()?.exists() {
        return Ok(None);
    }
    let store = database::existing(places)?;
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
    match head.settings.drill() {
        None => Ok(head),
        Some(_) => Err(Error::usage(
            format!("run {} searched a line of commits, and has figures of many", head.id),
            format!("name a commit that it measured; `faultline show {}` shows what it found", head.id),
        )),
    }
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

/// Whether it can be executed, or holds what no text does.
fn is_program(path: &Path) -> bool {
    path.is_file() && (is_executable(path) || read_most(path, BEGINNING_BYTES).is_ok_and(|bytes| bytes.contains(&0)))
}

/// A file or directory with its content. One of more than [`Files::LIMIT_BYTES`] is refused with its size, and not read.
fn files(path: &Path) -> Result<Files, Error> {
    if path.is_dir() { directory(path) } else { file(path) }
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
        // A pipe or a device: how much would follow is not known.
        return Err(too_large(path, None));
    }
    Ok(Files::one(path.display().to_string(), bytes))
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

/// The beginning of a file, up to `most` bytes: also of one that has no end.
fn read_most(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
