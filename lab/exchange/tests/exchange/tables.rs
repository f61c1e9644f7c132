//! Tables of no particular tool: their columns are found, whatever separates the cells.

use crate::samples::{dataset, named, series, values};
use faultline_exchange::{Files, read, sniff};
use faultline_record::dataset::{Dataset, Measured};
use faultline_record::direction::Direction::{Higher, Lower};
use faultline_record::time::UnixMillis;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// The names of a sample's series, each with the number of its points.
fn names(dataset: &Dataset) -> Vec<(String, usize)> {
    dataset.series.iter().map(|series| (series.to_string(), series.points.len())).collect()
}

fn table(name: &str) -> Dataset {
    dataset(named("csv"), name)
}

#[test]
fn a_date_and_a_value() {
    let dataset = table("dates.csv");
    assert_eq!(names(&dataset), [("Requests per second".to_owned(), 24)]);
    let point = &dataset.series[0].points[0];
    assert_eq!((point.time, &point.commit), (Some(UnixMillis(1_767_571_200_000)), &None));
}

#[test]
fn commits_with_subjects_and_two_values() {
    let dataset = table("commits.csv");
    assert_eq!(names(&dataset), [("build_ms".to_owned(), 24), ("size".to_owned(), 24)]);
    let build = series(&dataset, "build_ms");
    assert_eq!((build.unit.as_str(), build.direction), ("ms", Some(Lower)));
    assert_eq!(series(&dataset, "size").unit, "KiB");
    assert_eq!((build.points[1].commit.as_deref(), build.points[1].time), (Some("1f3b9f29"), None));
}

#[test]
fn a_spreadsheet_with_decimal_commas() {
    let dataset = table("spreadsheet.csv");
    assert_eq!(names(&dataset), [("Laufzeit".to_owned(), 24), ("Durchsatz".to_owned(), 24)]);
    let rate = series(&dataset, "Durchsatz");
    assert_eq!((rate.unit.as_str(), rate.direction), ("MB/s", Some(Higher)));
    assert_eq!(values(&dataset, "Durchsatz")[..2], [80.0, 80.6]);
    assert_eq!(rate.points[5].measured, Measured::Missing("no value".to_owned()));
    assert_eq!(rate.points[0].time, Some(UnixMillis(1_767_571_200_000)));
}

#[test]
fn versions_between_tabs() {
    let dataset = table("versions.tsv");
    assert_eq!(names(&dataset), [("fork".to_owned(), 24), ("exec".to_owned(), 24)]);
    let exec = series(&dataset, "exec");
    assert_eq!(exec.points[4].commit.as_deref(), Some("6.2.0"));
    assert_eq!(exec.points[3].measured, Measured::Missing("NaN".to_owned()));
}

#[test]
fn benchmarks_below_each_other() {
    let dataset = table("benchmarks.csv");
    assert_eq!(names(&dataset), [("sort, large ns".to_owned(), 24), ("hash ns".to_owned(), 24)]);
    let hash = series(&dataset, "hash ns");
    assert_eq!((hash.unit.as_str(), hash.direction), ("ns", Some(Lower)));
    assert_eq!(hash.points[0].commit.as_deref(), Some("1f3a9c20"));
    assert_eq!(hash.points[0].time, Some(UnixMillis(1_767_582_000_000)));
}

#[test]
fn seconds_since_1970_and_durations() {
    let dataset = table("nightly.txt");
    assert_eq!(names(&dataset), [("latency".to_owned(), 24), ("time".to_owned(), 24)]);
    assert_eq!(dataset.series[0].points[0].time, Some(UnixMillis(1_767_600_000_000)));
    assert_eq!(values(&dataset, "time")[..2], [1.25, 1.31]);
}

/// Reads a table with the format recognised.
fn recognised(text: &str) -> Result<Dataset, String> {
    let files = Files::one("given", text.as_bytes().to_vec());
    assert_eq!(sniff(&files), Some(named("csv")), "{text}");
    read(&files, None).map_err(|error| format!("{error}; {}", error.hint()))
}

#[test]
fn an_ambiguous_table_is_refused_with_its_columns() {
    let error = recognised("date,when,x\n2026-01-01,2026-01-02,1\n").unwrap_err();
    let columns = "given: the columns 'date' ('2026-01-01'…) and 'when' ('2026-01-02'…) have the same meaning";
    assert!(error.starts_with(columns) && error.contains("name the columns `time`, `commit`, `benchmark`"), "{error}");
    let error =
        recognised("day,suite,host,ms\n2026-01-01,a,x,1\n2026-01-01,b,y,1\n2026-01-02,a,x,1\n2026-01-02,b,y,2\n");
    assert!(error.unwrap_err().contains("differ in the columns 'suite', 'host'"));
}

#[test]
fn benchmarks_with_few_rows_are_kept_apart() {
    let expected = [("q1 ms".to_owned(), 1), ("q2 ms".to_owned(), 1), ("q3 ms".to_owned(), 1)];
    assert_eq!(names(&recognised("query,ms\nq1,5\nq2,900\nq3,40\n").unwrap()), expected);
    let comments = recognised("day,change,ms\n2026-01-01,first,5\n2026-01-02,second,6\n").unwrap();
    assert_eq!(names(&comments), [("ms".to_owned(), 2)]);
    let error = recognised("day,query,ms\n2026-01-01,q1,5\n2026-01-01,q2,900\n").unwrap_err();
    let expected = "given: rows of one time and commit differ in the column 'query'; in the first line, name";
    assert!(error.starts_with(expected), "{error}");
    let error = recognised("benchmark,host,ms\na,x,5\na,y,6\n").unwrap_err();
    assert!(error.starts_with("given: rows differ in the columns 'benchmark', 'host'"), "{error}");
}

#[test]
fn a_parameter_is_no_measurement() {
    let rows = "commit,PARAMETER,ms\nc1,1,9\nc1,2,5\nc1,4,3\nc2,1,8\nc2,2,4\nc2,4,3\n";
    let dataset = recognised(&rows.replace("PARAMETER", "threads")).unwrap();
    let tasks: Vec<_> = dataset.series.iter().map(|series| (series.tasks, series.points.len())).collect();
    assert_eq!(tasks, [(Some(1), 2), (Some(2), 2), (Some(4), 2)]);
    let error = recognised(&rows.replace("PARAMETER", "depth")).unwrap_err();
    assert!(error.contains("have the same numbers in the column 'depth' each time"), "{error}");
    // Repeated runs differ.
    let runs = recognised("commit,size,ms\nc1,1,9\nc1,2,5\nc2,1,8\nc2,3,4\n").unwrap();
    assert_eq!(names(&runs), [("size".to_owned(), 4), ("ms".to_owned(), 4)]);
}

#[test]
fn thousands_separators_are_no_decimal_commas() {
    let error = recognised("day;rate\n2026-01-01;987\n2026-01-02;1,234\n").unwrap_err();
    assert!(error.contains("the column 'rate' has decimal commas or thousands separators: '1,234'"), "{error}");
    let decimal = recognised("day;rate\n2026-01-01;98,5\n2026-01-02;1,234\n").unwrap();
    assert_eq!(values(&decimal, "rate"), [98.5, 1.234]);
}

#[test]
fn a_column_with_a_unit_is_no_clock() {
    let dataset = recognised("elapsed_ns,faults\n1200000000,5\n1200000100,6\n").unwrap();
    assert_eq!(names(&dataset), [("elapsed_ns".to_owned(), 2), ("faults".to_owned(), 2)]);
    assert_eq!(dataset.series[0].points[0].time, None);
}

#[test]
fn a_date_and_a_time_of_day_are_one_moment() {
    let dataset = recognised("date,time,ms\n2026-01-05,00:00:30,5\n2026-01-05,12:00,6\n").unwrap();
    assert_eq!(names(&dataset), [("ms".to_owned(), 2)]);
    let times: Vec<_> = dataset.series[0].points.iter().map(|point| point.time).collect();
    assert_eq!(times, [Some(UnixMillis(1_767_571_230_000)), Some(UnixMillis(1_767_614_400_000))]);
    let error = recognised("date,time,ms\n2026-01-05,early,5\n2026-01-05,late,6\n").unwrap_err();
    assert!(error.contains("the column 'time' ('early'…) holds neither times nor durations"), "{error}");
}

/// Cells: commit, day, benchmark, and two values that may be missing.
type Row = (u32, u8, String, Option<f64>, Option<f64>);

/// A table of cells.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    // Two decimals: three could be thousands after a comma.
    let value = || option::of((0u32..1_000_000).prop_map(|n| f64::from(n) / 4.0));
    vec((any::<u32>(), 1u8..29, "[a-z][a-z ,;|\"]{0,8}[a-z]", value(), value()), 1..30)
}

/// The table as text. Each cell is quoted that needs it, or all are.
fn text(rows: &[Row], separator: char, comma: bool, style: (bool, bool, bool)) -> String {
    let (quotes, windows, mark) = style;
    let cell = |text: &str| match quotes || text.contains(['"', ',', ';', '|', '\t']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let number = |value: &Option<f64>| {
        let text = value.map(|value| value.to_string()).unwrap_or_default();
        if comma { text.replace('.', ",") } else { text }
    };
    let line = |cells: [String; 5]| {
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        cells.join(&separator.to_string()) + if windows { "\r\n" } else { "\n" }
    };
    let header = ["revision", "day", "benchmark", "ns/op", "B/op"].map(str::to_owned);
    let rows = rows.iter().map(|(commit, day, name, a, b)| {
        line([format!("c{commit:08x}"), format!("2026-02-{day:02}"), name.clone(), number(a), number(b)])
    });
    let start = if mark { "\u{feff}" } else { "" };
    [start.to_owned(), line(header)].into_iter().chain(rows).collect()
}

proptest! {
    #[test]
    fn separators_quotes_and_line_ends_do_not_matter(
        rows in rows(),
        separator in prop::sample::select(vec![',', ';', '\t', '|']),
        comma in any::<bool>(),
        style in any::<(bool, bool, bool)>(),
    ) {
        // Without a value, nothing shows that these columns have any.
        prop_assume!(rows.iter().any(|row| row.3.is_some()) && rows.iter().any(|row| row.4.is_some()));
        let plain = Files::one("given", text(&rows, ',', false, (false, false, false)).into_bytes());
        let expected = read(&plain, Some(named("csv"))).unwrap();
        let other = text(&rows, separator, comma && separator == ';', style);
        let found = read(&Files::one("given", other.clone().into_bytes()), Some(named("csv")));
        prop_assert_eq!(found, Ok(expected), "{}", other);
    }
}
