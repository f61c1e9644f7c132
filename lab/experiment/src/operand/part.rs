//! A part of what holds figures: a benchmark of a file, a side of a comparison.

use crate::error::Error;
use faultline_model::dataset::{Dataset, Series};
use faultline_model::record::RunRecord;
use faultline_model::subject::SubjectIndex;
use faultline_stats::datasets;
use std::path::Path;

/// Benchmarks that a hint names.
const NAMES_SHOWN: usize = 6;

/// A file and what follows it after a colon.
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

/// A run that has two sides as one set of figures, each benchmark with the letter of its side.
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
