//! lkp-tests' `matrix.json`: an object of arrays, one number per run (`lib/matrix.rb` of intel/lkp-tests).
//!
//! The tool fills up with zeros what earlier runs did not have, which can't be told from a zero that was measured. Units are not in
//! the file. Arrays of text, as `stats_source`, are skipped. Of a run's intervals we write the median.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, missing, value};
use crate::json::{self, Members, Number};
use crate::recognition::Evidence;
use crate::reduction::Reduction;
use crate::written::Written;
use faultline_model::dataset::{Dataset, Series};
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "lkp",
    description: "lkp-tests' matrix.json",
    is_directory: false,
    recognise: |glance| Evidence::Shape.when(glance.first_of_json() == Some(b'[')),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

/// The arrays that the tool gives a meaning of its own.
const SOURCE: &str = "stats_source";

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Number(Number),
    // Not kept: it is a path or the like.
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
