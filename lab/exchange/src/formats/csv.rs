//! Plain CSV with a header: one value per line. For results of tools without a format of their own.
//!
//! `benchmark` and `value` are required. `tasks`, `measure`, `unit`, `better` (`higher` or
//! `lower`), `commit`, `date` and `boot` are optional; blank cells count as missing. `note` is not
//! read. A line is a run; a blank value is a run that failed.
//!
//! Samples: **by hand**.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit, check_parts, missing, value};
use crate::recognition::FormatMatch;
use crate::text::{self, quoted};
use csv::{ReaderBuilder, StringRecord, Trim};
use faultline_record::dataset::{DataPoint, Dataset};
use faultline_record::direction::Direction;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "csv",
    description: "plain CSV with a header: benchmark, value and optional columns",
    reads: "a run per line; columns benchmark, value, tasks, measure, unit, better (higher, lower), commit, date, boot; a blank value is a failed run; `note` is not read",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: None },
};

const BENCHMARK: &str = "benchmark";
const VALUE: &str = "value";
const COLUMNS: [&str; 10] = [BENCHMARK, VALUE, "tasks", "measure", "unit", "better", "commit", "date", "boot", "note"];

fn begins(text: &str) -> bool {
    let header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
    header.contains(&BENCHMARK) && header.contains(&VALUE)
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    check_parts(file)?;
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(file.text.as_bytes());
    let header = reader.headers().map_err(|error| text::csv_error(file.name, &error))?.clone();
    check_header(file, &header)?;
    let mut gather = Gather::default();
    for row in reader.records() {
        let row = row.map_err(|error| text::csv_error(file.name, &error))?;
        read_row(&mut gather, file, &header, &row)?;
    }
    gather.dataset(file.name, "lines below the header")
}

fn check_header(file: File<'_>, header: &StringRecord) -> Result<(), ReadError> {
    let known = || format!("the columns {}", COLUMNS.join(", "));
    if let Some(column) = header.iter().find(|column| !COLUMNS.contains(column)) {
        return Err(ReadError::new(file.name, 1, format!("the column {}", quoted(column)), known()));
    }
    let count = |wanted: &str| header.iter().filter(|column| *column == wanted).count();
    match COLUMNS.iter().find(|column| count(column) > 1) {
        Some(column) => Err(ReadError::new(file.name, 1, format!("two columns `{column}`"), known())),
        None if count(BENCHMARK) + count(VALUE) < 2 => {
            Err(ReadError::new(file.name, 1, "a header without them", format!("`{BENCHMARK}` and `{VALUE}`")))
        }
        None => Ok(()),
    }
}

fn read_row(gather: &mut Gather, file: File<'_>, header: &StringRecord, row: &StringRecord) -> Result<(), ReadError> {
    let line = row.position().map_or(1, csv::Position::line);
    let wrong = |found: &str, expected: &str| ReadError::new(file.name, line, quoted(found), expected);
    let cell = |wanted: &str| {
        header
            .iter()
            .zip(row)
            .find(|(column, _)| *column == wanted)
            .map(|(_, cell)| cell)
            .filter(|cell| !cell.is_empty())
    };
    let name = cell(BENCHMARK).ok_or_else(|| wrong("", "a benchmark's name"))?;
    let tasks = cell("tasks").map(|tasks| tasks.parse().map_err(|_| wrong(tasks, "a number of tasks"))).transpose()?;
    let unit = cell("unit").unwrap_or_default();
    let better = cell("better").map(|better| match better {
        "higher" => Ok(Direction::Higher),
        "lower" => Ok(Direction::Lower),
        _ => Err(wrong(better, "`higher` or `lower`")),
    });
    let date = "a date: 2026-01-31 12:00:00 +0000";
    let time = cell("date").map(|time| text::parse_time(time).ok_or_else(|| wrong(time, date))).transpose()?;
    let series = gather.series(name, tasks, cell("measure"), unit);
    agree_on_unit(series, unit, file.name, line)?;
    if let Some(better) = better.transpose()? {
        series.direction = Some(better);
    }
    let run = match cell(VALUE) {
        Some(number) => value(text::finite(file.name, line, number, "a value")?),
        None => missing("no value"),
    };
    let [commit, boot] = ["commit", "boot"].map(|column| cell(column).map(str::to_owned));
    series.points.push(DataPoint { commit, boot, time, ..run });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::Measured;

    fn dataset(text: &str) -> Result<Dataset, String> {
        read(File { name: "a.csv", text }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_sample_is_read() {
        let dataset = dataset(include_str!("../../tests/samples/csv/values.csv")).unwrap();
        let names: Vec<String> = dataset.series.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["sort, large", "fork×4", "fork memory×4"]);
        let [sort, fork, memory] = &dataset.series[..] else { panic!() };
        assert_eq!((sort.unit.as_str(), sort.direction), ("s", Some(Direction::Lower)));
        let runs: Vec<_> = sort.points.iter().map(|point| point.measured.clone()).collect();
        assert_eq!(runs, [Measured::Values(vec![1.25]), Measured::Missing("no value".to_owned())]);
        assert_eq!((fork.direction, memory.direction), (Some(Direction::Higher), Some(Direction::Lower)));
        let point = &fork.points[0];
        assert_eq!((point.commit.as_deref(), point.boot.as_deref()), (Some("1f3a9c2"), Some("b1")));
        assert_eq!(point.time, text::parse_time("2026-01-31T12:00:00Z"));
    }

    #[test]
    fn errors_name_the_cell() {
        let error = |text| dataset(text).unwrap_err();
        assert!(error("benchmark,value,uint\n").contains("a.csv:1: found the column 'uint', expected the columns"));
        assert!(error("benchmark,unit\n").contains("expected `benchmark` and `value`"));
        assert!(error("benchmark,value,value\n").contains("two columns `value`"));
        assert!(error("benchmark,value\n").contains("no benchmark"));
        assert!(error("benchmark,value\na,x\n").contains("a.csv:2: found 'x', expected a value: a finite number"));
        assert!(error("benchmark,value\n,1\n").contains("expected a benchmark's name"));
        assert!(error("benchmark,value,tasks\na,1,many\n").contains("expected a number of tasks"));
        assert!(error("benchmark,value,better\na,1,wider\n").contains("expected `higher` or `lower`"));
        assert!(error("benchmark,value,date\na,1,soon\n").contains("expected a date"));
        assert!(error("benchmark,value,unit\na,1,s\na,2,ms\n").contains("a.csv:3: found the unit 'ms'"));
    }
}
