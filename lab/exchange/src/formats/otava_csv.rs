//! Otava's CSV: a row per run, with a time, a commit and a column per metric.
//!
//! Units and directions are in Otava's configuration, not in the file. Columns of text and Otava's
//! attributes are skipped. Rows are written by time, with the median of a run's intervals: Otava
//! treats each row as a run. A metric without a value leaves its cell blank, which Otava rejects
//! rather than misreads. A dataset without times is refused, because invented times would look
//! real.
//!
//! Samples: by a script: 60 days of two metrics with one step each; read by Otava for the next.

use super::csv::{is_time, names_benchmarks};
use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, check_parts, missing, value};
use crate::quotes::check_quotes;
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::{self, quoted};
use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use faultline_record::dataset::{DataPoint, Dataset, Series};
use faultline_record::time::UnixMillis;
use std::collections::{BTreeMap, HashMap};

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "otava-csv",
    description: "Otava's CSV: time, commit and one column per metric",
    reads: "every numeric column except branch, run, version, test",
    writes: "a row per run by time, which needs times; not facts, boots, order, intervals, units, directions, runs without a value",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const TIME: &str = "time";
const COMMIT: &str = "commit";
/// Columns that are never metrics.
const ATTRIBUTES: [&str; 4] = ["branch", "run", "version", "test"];

/// The key of a row: time, commit, and the index among a metric's runs with both.
type RowKey = (UnixMillis, Option<String>, usize);

/// True for a header with `time` and no column of names, if the first row has a time there. Other
/// tables are read as `csv`.
fn begins(text: &str) -> bool {
    let mut records =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes()).into_records();
    let Some(Ok(header)) = records.next() else { return false };
    let Some(time) = header.iter().position(|column| column.trim() == TIME) else { return false };
    let has_time = |row: StringRecord| row.get(time).is_none_or(|cell| is_time(cell.trim()));
    header.len() > 1 && !header.iter().any(names_benchmarks) && records.next().is_none_or(|row| row.is_ok_and(has_time))
}

/// The columns of the header by kind.
struct Columns {
    time: usize,
    commit: Option<usize>,
    /// Column number and name.
    metrics: Vec<(usize, String)>,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    check_parts(file)?;
    check_quotes(file, b',')?;
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file.text.as_bytes());
    let mut records = reader.records();
    let header = records.next().transpose().map_err(|error| text::csv_error(file.name, &error))?;
    let header = header.ok_or_else(|| ReadError::new(file.name, 1, "nothing", "a header with `time` and metrics"))?;
    let rows: Vec<StringRecord> =
        records.collect::<Result<_, _>>().map_err(|error| text::csv_error(file.name, &error))?;
    if let Some(row) = rows.iter().find(|row| row.len() != header.len()) {
        let expected = format!("{}, as in the header", header.len());
        return Err(ReadError::new(file.name, line(row), format!("{} columns", row.len()), expected));
    }
    let columns = columns(file, &header, &rows)?;
    let mut gather = Gather::default();
    for (_, name) in &columns.metrics {
        gather.series(name, None, None, "");
    }
    for row in &rows {
        read_row(&mut gather, file, &columns, row)?;
    }
    gather.dataset(file.name, "a column of numbers")
}

fn columns(file: File<'_>, header: &StringRecord, rows: &[StringRecord]) -> Result<Columns, ReadError> {
    let place = |wanted: &str| header.iter().position(|column| column.trim() == wanted);
    let Some(time) = place(TIME) else {
        return Err(ReadError::new(file.name, 1, "no column `time`", "a header with `time` and metrics"));
    };
    let commit = place(COMMIT);
    let mut metrics = Vec::new();
    let mut seen = HashMap::new();
    for (column, name) in header.iter().enumerate() {
        let special = column == time || Some(column) == commit || ATTRIBUTES.contains(&name);
        if special || !rows.iter().any(|row| row[column].trim().parse::<f64>().is_ok()) {
            continue;
        }
        if seen.insert(name, column).is_some() {
            let found = format!("two columns {}", quoted(name));
            return Err(ReadError::new(file.name, 1, found, "each metric once"));
        }
        metrics.push((column, name.to_owned()));
    }
    Ok(Columns { time, commit, metrics })
}

fn read_row(gather: &mut Gather, file: File<'_>, columns: &Columns, row: &StringRecord) -> Result<(), ReadError> {
    let time = text::parse_time(&row[columns.time]).ok_or_else(|| {
        ReadError::new(file.name, line(row), quoted(&row[columns.time]), "a time: 2026-01-31 12:00:00 +0000")
    })?;
    let commit = columns.commit.map(|column| row[column].to_owned()).filter(|commit| !commit.is_empty());
    for (column, name) in &columns.metrics {
        let cell = row[*column].trim();
        // Another metric's run.
        if cell.is_empty() {
            continue;
        }
        let point = match cell.parse::<f64>() {
            Ok(number) if number.is_nan() => missing("NaN"),
            _ => value(text::finite(file.name, line(row), cell, name)?),
        };
        let point = DataPoint { commit: commit.clone(), time: Some(time), ..point };
        gather.series(name, None, None, "").points.push(point);
    }
    Ok(())
}

fn line(row: &StringRecord) -> u64 {
    row.position().map_or(1, csv::Position::line)
}

/// A metric's column name: distinct from special columns, and not empty.
fn metric(name: &str) -> String {
    match name {
        "" => "unnamed".to_owned(),
        _ if name.trim() == TIME || name.trim() == COMMIT || ATTRIBUTES.contains(&name) || names_benchmarks(name) => {
            format!("{name}_")
        }
        _ => name.to_owned(),
    }
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .no_facts()
        .no_boots()
        .no_order()
        .no_missing()
        .no_empty()
        .no_summaries()
        .medians()
        .commits(|commit| Some(commit.to_owned()).filter(|commit| !commit.is_empty()))
        .fold_tasks()
        .fold_measures(' ')
        .names(metric)
        .units(|_| String::new())
        .directions(|_| None)
        .arranged(|dataset| {
            for series in &mut dataset.series {
                series.points.sort_by(|a, b| (a.time, &a.commit).cmp(&(b.time, &b.commit)));
            }
        })
        .ready(FORMAT.name)?;
    let text = table(&reduced.dataset.series)?;
    Ok(Written::file("series.csv", text, reduced))
}

fn table(series: &[Series]) -> Result<String, WriteError> {
    let mut rows: BTreeMap<RowKey, Vec<(usize, f64)>> = BTreeMap::new();
    for (column, series) in series.iter().enumerate() {
        let mut before: Option<RowKey> = None;
        for point in &series.points {
            let time = point.time.filter(|time| text::iso_time(*time).is_some()).ok_or_else(no_time)?;
            let again =
                before.filter(|(at, commit, _)| *at == time && *commit == point.commit).map_or(0, |row| row.2 + 1);
            let place = (time, point.commit.clone(), again);
            rows.entry(place.clone()).or_default().extend(point.measured.values().iter().map(|value| (column, *value)));
            before = Some(place);
        }
    }
    let with_commits = rows.keys().any(|(_, commit, _)| commit.is_some());
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    let names = series.iter().map(|series| series.name.clone());
    let header = [TIME.to_owned()].into_iter().chain(with_commits.then(|| COMMIT.to_owned())).chain(names);
    writer.write_record(header).expect("a buffer takes everything");
    for ((time, commit, _), values) in rows {
        let mut cells = vec![String::new(); series.len()];
        for (column, value) in values {
            cells[column] = value.to_string();
        }
        let time = text::iso_time(time).unwrap_or_default();
        let row = [time].into_iter().chain(with_commits.then(|| commit.unwrap_or_default())).chain(cells);
        writer.write_record(row).expect("a buffer takes everything, and rows are equally long");
    }
    let bytes = writer.into_inner().expect("a buffer takes everything");
    Ok(String::from_utf8(bytes).expect("CSV of texts is text"))
}

fn no_time() -> WriteError {
    WriteError::new(
        "otava-csv needs the time of each run, and there is one without (or beyond the calendar)",
        "runs of commits have times; without them, `faultline`, `bencher` or `go-bench` can hold the values",
    )
}
