//! will-it-scale's CSV (`runtest.py` of antonblanchard/will-it-scale): operations per second by
//! number of tasks, as processes and as threads, with the machine's idle share. The file is named
//! after the test case.
//!
//! A row is a run; several intervals are written as their median. -1 marks a test that printed no
//! average. `linear` is computed from the other columns. A series without a measure is written to
//! the column of processes.
//!
//! Samples: will-it-scale, commit 75f66e4, Debian 12, gcc 12; `./runtest.py page_fault1 >
//! page_fault1.csv`, two CPUs.

use crate::error::{ReadError, WriteError};
use crate::files::{File, Files};
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, check_parts, missing, value};
use crate::recognition::{FormatMatch, Glance};
use crate::reduction::Reduction;
use crate::text::{self, lines, quoted, with_only};
use faultline_record::dataset::{Dataset, Measured, Series};
use faultline_record::direction::Direction;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "will-it-scale",
    description: "TEST.csv of will-it-scale, or a directory of them",
    reads: "processes and threads (ops/s; −1: failed) and idle shares (%) by tasks; not `linear`",
    writes: "the same columns, benchmarks without a measure as processes; not facts, commits, times, boots, order, intervals, units, benchmarks without tasks, other measures, negative rates",
    is_directory: false,
    recognise,
    content: Content::Values { read: Read::Files(read), write: Some(write) },
};

const HEADER: &str = "tasks,processes,processes_idle,threads,threads_idle,linear";
/// The row that the tool writes first, for plots.
const FIRST: &str = "0,0,100,0,100,0";
const COLUMNS: [&str; 4] = ["processes", "processes_idle", "threads", "threads_idle"];
const RATE: &str = "ops/s";
const SHARE: &str = "%";
const FAILED: &str = "failed";

fn begins(text: &str) -> bool {
    text.trim_start().starts_with("tasks,processes,")
}

/// Recognises a file by its header, and a directory by the header of its first table.
fn recognise(glance: &Glance<'_>) -> Option<FormatMatch> {
    if glance.is_many() {
        return FormatMatch::Shape.when(fits(glance.files));
    }
    FormatMatch::Mark.when(glance.text_begins(begins))
}

fn fits(files: &Files) -> bool {
    let mut tables = files.chosen(is_table);
    tables.next().is_some_and(|file| file.is_ok_and(|file| begins(file.text)))
}

fn is_table(path: &str) -> bool {
    path.ends_with(".csv")
}

fn read(files: &Files) -> Result<Dataset, ReadError> {
    let mut gather = Gather::default();
    for file in files.chosen(|path| !files.is_directory() || is_table(path)) {
        let file = file?;
        let name = if files.is_directory() { file.name } else { file.name.rsplit('/').next().unwrap_or_default() };
        read_table(&mut gather, file, name.strip_suffix(".csv").unwrap_or(name))?;
    }
    gather.dataset(files.given(), "rows of will-it-scale's CSV")
}

fn read_table(gather: &mut Gather, file: File<'_>, test: &str) -> Result<(), ReadError> {
    check_parts(file)?;
    let mut rows = lines(file.text);
    match rows.next() {
        Some((_, header)) if header.trim() == HEADER => {}
        Some((line, header)) => {
            return Err(ReadError::new(file.name, line, quoted(header), quoted(HEADER)));
        }
        None => return Err(ReadError::new(file.name, 1, "nothing", quoted(HEADER))),
    }
    for (line, row) in rows {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let &[tasks, ref figures @ .., _] = &cells[..] else {
            return Err(ReadError::new(file.name, line, quoted(row), "6 columns"));
        };
        if figures.len() != COLUMNS.len() {
            return Err(ReadError::new(file.name, line, format!("{} columns", cells.len()), "6 columns"));
        }
        let tasks: u32 =
            tasks.parse().map_err(|_| ReadError::new(file.name, line, quoted(tasks), "a number of tasks"))?;
        if tasks > 0 {
            for (column, cell) in COLUMNS.into_iter().zip(figures) {
                read_cell(gather, file, line, (test, tasks, column), cell)?;
            }
        }
    }
    Ok(())
}

fn read_cell(
    gather: &mut Gather,
    file: File<'_>,
    line: u64,
    (test, tasks, column): (&str, u32, &str),
    cell: &str,
) -> Result<(), ReadError> {
    if cell.is_empty() {
        return Ok(());
    }
    let figure = text::finite(file.name, line, cell, column)?;
    let failed = figure == -1.0 && unit(column) == RATE;
    let series = gather.series(test, Some(tasks), Some(column), unit(column));
    series.points.push(if failed { missing(FAILED) } else { value(figure) });
    Ok(())
}

fn unit(column: &str) -> &'static str {
    if column.ends_with("_idle") { SHARE } else { RATE }
}

fn column(series: &Series) -> Option<usize> {
    COLUMNS.iter().position(|column| series.measure.as_deref() == Some(column))
}

fn path(name: &str) -> String {
    format!("{name}.csv")
}

/// A name that is a single path component.
fn file_name(name: &str) -> String {
    let name = with_only(name, |c| !c.is_control() && c != '/' && c != '\\', '_');
    let name: String = name.chars().take(60).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .no_facts()
        .no_commits()
        .no_times()
        .no_boots()
        .no_order()
        .measures(|series| series.measure.clone().or_else(|| Some(COLUMNS[0].to_owned())))
        .only(|series| series.tasks.is_some_and(|tasks| tasks > 0), "benchmarks without a number of tasks")
        .only(|series| column(series).is_some(), "measures other than processes, threads and the idle shares")
        .only(
            |series| {
                unit(COLUMNS[column(series).unwrap_or_default()]) == SHARE
                    || series.points.iter().flat_map(|point| point.measured.values()).all(|value| *value >= 0.0)
            },
            "rates below zero",
        )
        .missing(|series| column(series).is_some_and(|column| unit(COLUMNS[column]) == RATE))
        .reasons(|_| FAILED.to_owned())
        .no_summaries()
        .medians()
        .no_empty()
        .names(file_name)
        .units(|series| series.measure.as_deref().map_or(RATE, unit).to_owned())
        .directions(|series| (series.unit == RATE).then_some(Direction::Higher))
        .arranged(|dataset| {
            dataset.series.sort_by_cached_key(|series| (path(&series.name), series.tasks, column(series)));
        })
        .ready(FORMAT.name)?;
    let mut tests: BTreeMap<String, Vec<&Series>> = BTreeMap::new();
    for series in &reduced.dataset.series {
        tests.entry(path(&series.name)).or_default().push(series);
    }
    let files = tests.into_iter().map(|(path, series)| (path, table(&series))).collect();
    Ok(Written { files, held: reduced.dataset, losses: reduced.losses })
}

/// The file of one test: rows by number of tasks, one per run.
fn table(series: &[&Series]) -> String {
    let mut rows: BTreeMap<u32, [&[_]; COLUMNS.len()]> = BTreeMap::new();
    for series in series {
        let (Some(tasks), Some(column)) = (series.tasks, column(series)) else {
            continue;
        };
        rows.entry(tasks).or_default()[column] = &series.points;
    }
    let at_one = rows.get(&1).map(|columns| [columns[0], columns[2]].map(|points| points.first()));
    let single = at_one.iter().flatten().flatten().flat_map(|point| point.measured.values()).copied().reduce(f64::max);
    let mut text = format!("{HEADER}\n{FIRST}\n");
    for (tasks, columns) in rows {
        for run in 0..columns.iter().map(|points| points.len()).max().unwrap_or_default() {
            let cells = columns.map(|points| points.get(run).map_or(String::new(), |point| cell(&point.measured)));
            let linear = single.map_or(String::new(), |single| (single * f64::from(tasks)).to_string());
            writeln!(text, "{tasks},{},{linear}", cells.join(",")).expect("a string takes everything");
        }
    }
    text
}

fn cell(measured: &Measured) -> String {
    measured.values().first().map_or("-1".to_owned(), f64::to_string)
}
