//! lkp-tests' `matrix.json`: an object of arrays, one number per run (`lib/matrix.rb` of
//! intel/lkp-tests).
//!
//! The tool adds zeros for runs before the first value; they look like measured zeros. The file has
//! no units. Arrays of text such as `stats_source` are skipped. A run's intervals are written as
//! their median.
//!
//! Samples: lkp-tests, commit bbbc29c49, Ruby 3.1; three one-second runs of will-it-scale through
//! `programs/will-it-scale/parse`, united by `unite_to` of `lib/matrix.rb`.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, missing, value};
use crate::json::{self, Members, Number};
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use faultline_record::dataset::{Dataset, Series};
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "lkp",
    description: "matrix.json of lkp-tests",
    reads: "each array as a benchmark, a run per number; NaN, null: no value; zeros may be filled in by lkp",
    writes: "an array per benchmark; not facts, commits, times, boots, order, intervals, units, directions, runs without a value",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.first_of_json() == Some(b'[')),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

/// The array that is no benchmark.
const SOURCE: &str = "stats_source";

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Number(Number),
    // Skipped: a path or similar text.
    Text(String),
    None(()),
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let stats: Members<Vec<Cell>> = json::parse_with_nan(file, "lkp's matrix")?;
    let mut gather = Gather::default();
    for (stat, cells) in stats.0 {
        let numbers = cells.iter().any(|cell| matches!(cell, Cell::Number(_)));
        if !numbers || stat == SOURCE {
            continue;
        }
        let series = gather.series(&stat, None, None, "");
        for cell in cells {
            series.points.push(match cell {
                Cell::Number(number) => number.finite().map_or_else(|| missing("not a finite number"), value),
                Cell::Text(text) => {
                    let found = crate::text::quoted(&text);
                    return Err(ReadError::new(file.name, None, found, format!("a number of '{stat}'")));
                }
                Cell::None(()) => missing("null"),
            });
        }
    }
    gather.dataset(file.name, "arrays of numbers")
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .no_facts()
        .no_commits()
        .no_times()
        .no_boots()
        .no_order()
        .no_missing()
        .no_empty()
        .no_summaries()
        .medians()
        .fold_measures('.')
        .fold_tasks()
        .names(|name| if name == SOURCE { format!("{name}_") } else { name.to_owned() })
        .units(|_| String::new())
        .directions(|_| None)
        .ready(FORMAT.name)?;
    let values = |series: &Series| series.points.iter().flat_map(|point| point.measured.values()).copied().collect();
    let stats = Members(reduced.dataset.series.iter().map(|series| (series.name.clone(), values(series))).collect());
    let stats: Members<Vec<f64>> = stats;
    Ok(Written::file("matrix.json", json::text(&stats), reduced))
}
