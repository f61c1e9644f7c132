//! Any table with a header: CSV, also with semicolons, tabs or bars between the cells.
//!
//! A column of times, one of commits or versions and one of benchmarks are recognised by their
//! names, otherwise by their contents; a table may lack each. Other columns of numbers are values,
//! a series each, except numbers of rows. A line is a run; a cell without a number is a run without
//! a value. Rows without times are read as ordered, the oldest first. A table that can be
//! understood in two ways is refused.
//!
//! Samples: **by hand**; all but `values.csv` are tables as scripts and spreadsheets write them.

mod cells;
mod columns;
mod dialect;
mod groups;
mod names;

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit, check_separators, missing, value};
use crate::quotes::check_quotes;
use crate::recognition::FormatMatch;
use crate::text::{self, quoted};
use columns::{Columns, Profile};
use csv::StringRecord;
use faultline_record::dataset::{DataPoint, Dataset};
use faultline_record::direction::Direction;
use names::{NAMES, VALUE};

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "csv",
    description: "any CSV with a header, also with semicolons, tabs or bars: times, commits, values",
    reads: "a run per line; every column of numbers; columns of times, commits or versions, and benchmarks, by name or content; unit, better (higher, lower), tasks, measure, boot by name",
    writes: "",
    is_directory: false,
    recognise: |glance| {
        FormatMatch::Mark
            .when(glance.text_begins(is_long))
            .or_else(|| FormatMatch::Table.when(glance.text_begins(is_table)))
    },
    content: Content::Values { read: Read::File(read), write: None },
};

/// True if a header names a column of benchmarks.
pub(super) fn names_benchmarks(header: &str) -> bool {
    NAMES.contains(&header.trim().to_lowercase().as_str())
}

/// True if a cell is a time rather than a duration.
pub(super) fn is_time(cell: &str) -> bool {
    cells::moment(cell).is_some()
}

/// True for the header `benchmark,value`, perhaps with other columns.
fn is_long(text: &str) -> bool {
    let Ok(separator) = dialect::separator(text.as_bytes()) else { return false };
    let beginning = dialect::beginning(text.as_bytes(), separator);
    let has = |name: &str| beginning.first().is_some_and(|header| header.iter().any(|cell| cell == name.as_bytes()));
    has(NAMES[0]) && has(VALUE)
}

/// True for a header of names above a row of as many cells, one of them a number or a date.
fn is_table(text: &str) -> bool {
    let separator = dialect::separator(text.as_bytes()).unwrap_or_else(|[one, _]| one);
    let beginning = dialect::beginning(text.as_bytes(), separator);
    let [header, row, ..] = &beginning[..] else { return false };
    let begins_number = |cell: &[u8]| cell.iter().find(|byte| !b"+-.,".contains(byte)).is_some_and(u8::is_ascii_digit);
    let is_value = |(name, cell)| begins_number(cell) && !begins_number(name);
    !text.contains('\0') && !text.starts_with("#!") && header.len() == row.len() && header.iter().zip(row).any(is_value)
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let separator = dialect::separator(file.text.as_bytes()).map_err(|both| {
        wrong(file, format!("{} or {} may separate the columns", dialect::name(both[0]), dialect::name(both[1])))
    })?;
    check_separators(file, separator, dialect::name(separator))?;
    check_quotes(file, separator)?;
    let mut profiles = Vec::new();
    let table = Table { file, separator };
    table.header(|header| profiles = header.iter().map(Profile::new).collect())?;
    table.rows(|row, _| {
        profiles.iter_mut().zip(row).for_each(|(profile, cell)| profile.add(cell, table.has_commas()));
        Ok(())
    })?;
    let mut columns = Columns::of(&profiles).map_err(|problem| wrong(file, problem))?;
    if let Some(name) = groups::name_by_content(&table, &columns, &profiles)? {
        columns.name = Some(name);
    }
    groups::check_parameters(&table, &columns, &profiles)?;
    let mut gather = Gather::default();
    table.rows(|row, line| Row { table: &table, columns: &columns, row, line }.read(&mut gather))?;
    gather.dataset(file.name, "lines below the header")
}

fn wrong(file: File<'_>, problem: String) -> ReadError {
    ReadError::Columns { file: file.name.to_owned(), problem }
}

/// A file with its separator.
struct Table<'a> {
    file: File<'a>,
    separator: u8,
}

impl Table<'_> {
    /// True if numbers may have decimal commas.
    fn has_commas(&self) -> bool {
        self.separator == b';'
    }

    fn header(&self, mut each: impl FnMut(&StringRecord)) -> Result<(), ReadError> {
        let mut reader = dialect::reader(self.file.text.as_bytes(), self.separator);
        each(reader.headers().map_err(|error| text::csv_error(self.file.name, &error))?);
        Ok(())
    }

    /// Calls `each` for all rows that are not blank, with their lines.
    fn rows(&self, mut each: impl FnMut(&StringRecord, u64) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let mut reader = dialect::reader(self.file.text.as_bytes(), self.separator);
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|error| text::csv_error(self.file.name, &error))? {
            if row.iter().any(|cell| !cell.is_empty()) {
                each(&row, row.position().map_or(1, csv::Position::line))?;
            }
        }
        Ok(())
    }
}

/// A row with the roles of its cells.
struct Row<'a> {
    table: &'a Table<'a>,
    columns: &'a Columns,
    row: &'a StringRecord,
    line: u64,
}

impl Row<'_> {
    /// The cell, if it is not blank.
    fn cell(&self, column: Option<usize>) -> Option<&str> {
        self.row.get(column?).filter(|cell| !cell.is_empty())
    }

    fn wrong(&self, found: &str, expected: &str) -> ReadError {
        ReadError::new(self.table.file.name, self.line, quoted(found), expected)
    }

    fn read(&self, gather: &mut Gather) -> Result<(), ReadError> {
        let columns = self.columns;
        let named = match columns.name {
            Some(_) => Some(self.cell(columns.name).ok_or_else(|| self.wrong("", "a benchmark's name"))?),
            None => None,
        };
        let number = |tasks: &str| tasks.parse().map_err(|_| self.wrong(tasks, "a number of tasks"));
        let tasks = self.cell(columns.tasks).map(number).transpose()?;
        let time = self.cell(columns.time).map(|date| match self.cell(columns.time_of_day) {
            Some(time) => format!("{date} {time}"),
            None => date.to_owned(),
        });
        let moment =
            |time: String| cells::moment(&time).ok_or_else(|| self.wrong(&time, "a date, such as 2026-01-31 12:00:00"));
        let time = time.map(moment).transpose()?;
        let better = self.cell(columns.better).map(|better| match better {
            "higher" => Ok(Direction::Higher),
            "lower" => Ok(Direction::Lower),
            _ => Err(self.wrong(better, "`higher` or `lower`")),
        });
        let better = better.transpose()?;
        let [commit, boot] = [columns.commit, columns.boot].map(|column| self.cell(column).map(str::to_owned));
        for column in &columns.values {
            let unit = self.cell(columns.unit).unwrap_or(&column.unit);
            let measure = (named.is_some() && column.name != VALUE).then_some(column.name.as_str());
            let series =
                gather.series(named.unwrap_or(&column.name), tasks, self.cell(columns.measure).or(measure), unit);
            agree_on_unit(series, unit, self.table.file.name, self.line)?;
            if better.is_some() {
                series.direction = better;
            }
            let run = self.run(self.row.get(column.column).unwrap_or_default())?;
            series.points.push(DataPoint { commit: commit.clone(), boot: boot.clone(), time, ..run });
        }
        Ok(())
    }

    fn run(&self, cell: &str) -> Result<DataPoint, ReadError> {
        match cells::number(cell, self.table.has_commas()) {
            Some(number) => Ok(value(number)),
            None if cell.is_empty() => Ok(missing("no value")),
            None if cells::is_missing(cell) => Ok(missing(cell)),
            None => Err(self.wrong(cell, "a value: a finite number")),
        }
    }
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
        let dataset = dataset(include_str!("../../../tests/samples/csv/values.csv")).unwrap();
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
        assert!(
            error("benchmark,unit\n").contains("a.csv: no column holds values: 'benchmark' (blank), 'unit' (blank)")
        );
        assert!(error("benchmark,value,value\n").contains("two columns of values are named 'value'"));
        assert!(error("benchmark,value\n").contains("no benchmark"));
        assert!(error("benchmark,value\na,1x\n").contains("a.csv:2: found '1x', expected a value: a finite number"));
        assert!(error("benchmark,value\n,1\n").contains("expected a benchmark's name"));
        assert!(error("benchmark,value,tasks\na,1,many\n").contains("expected a number of tasks"));
        assert!(error("benchmark,value,better\na,1,wider\n").contains("expected `higher` or `lower`"));
        assert!(error("benchmark,value,date\na,1,soon\n").contains("a.csv:2: found 'soon', expected a date"));
        assert!(error("benchmark,value,unit\na,1,s\na,2,ms\n").contains("a.csv:3: found the unit 'ms'"));
        assert!(error("benchmark,value\na,\"1\nb,2\n").contains("a.csv:2: found a quote that is not closed"));
        assert!(error("a;b\n1;2\n3\n").contains("a.csv:3: found 1 columns, expected 2, as in the header"));
        assert!(error("a,b;c\n1,2;3\n").contains("commas or semicolons may separate the columns"));
    }

    /// The series with their points: commit, seconds since 1970, value.
    type PointsOfSeries = (String, Vec<(String, i64, Option<f64>)>);

    fn points(text: &str) -> Vec<PointsOfSeries> {
        let point = |point: &DataPoint| {
            let seconds = point.time.map_or(0, |time| time.0 / 1000);
            (point.commit.clone().unwrap_or_default(), seconds, point.measured.values().first().copied())
        };
        let series = dataset(text).unwrap().series;
        series.iter().map(|series| (series.to_string(), series.points.iter().map(point).collect())).collect()
    }

    #[test]
    fn a_text_that_tells_rows_apart_names_the_benchmarks() {
        let rows = "day;what;author;ms\n2026-01-01;sort;ann;1,5\n2026-01-01;fork;ann;2\n2026-01-02;sort;bob;\n2026-01-02;fork;bob;3\n";
        let found = points(rows);
        let (first, second) = (1_767_225_600, 1_767_312_000);
        let point = |seconds, value| (String::new(), seconds, value);
        assert_eq!(found[0], ("sort ms".to_owned(), vec![point(first, Some(1.5)), point(second, None)]));
        assert_eq!(found[1], ("fork ms".to_owned(), vec![point(first, Some(2.0)), point(second, Some(3.0))]));
        let error =
            dataset(&rows.replace("day;", "day;benchmark;").replace("-01;", "-01;a;").replace("-02;", "-02;a;"));
        assert_eq!(error.unwrap_err(), "a.csv: rows of one time and commit differ in the columns 'benchmark', 'what'");
    }

    #[test]
    fn texts_that_are_no_names_are_not_read() {
        let found = points("commit,subject line,rate\n1f3a9c2,first,1\n1f3a9c3,second,2\n");
        let point = |commit: &str, value| (commit.to_owned(), 0, Some(value));
        assert_eq!(found, [("rate".to_owned(), vec![point("1f3a9c2", 1.0), point("1f3a9c3", 2.0)])]);
    }

    #[test]
    fn a_table_of_no_tool_is_recognised_last() {
        assert!(is_table("a,b\n1,2\n") && is_table("day;rate\n2026-01-01;,5\n") && is_table("rate\n1\n"));
        for text in
            ["", "a,b\n", "Dear reader,\nhello,\n", "import os, re\nimport json, csv\n", "1,2\n3,4\n", "a,b\n1\n"]
        {
            assert!(!is_table(text), "{text}");
        }
    }
}
