//! The OpenBSD lab's `test.data` (bluhm/regress-all, `perform-html.pl`): lines `test subtest run
//! checkout repeat value unit host`.
//!
//! `run` is the start of the tests, `checkout` the time of the built sources and of the point; both
//! in seconds since 1970. Each checkout is booted, so the boot is `RUN/CHECKOUT`; the file does not
//! state reboots between repeats. A repeat is a run with all its values. With several hosts, names
//! end in `@HOST`.
//!
//! Samples: by hand, after `perform.pl` and `perform-html.pl` of regress-all, commit f91dceb; they
//! need OpenBSD; lines as these scripts print them, with made-up figures.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, agree_on_unit};
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::{self, lines, quoted, word};
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_record::facts::FactValue;
use faultline_record::time::UnixMillis;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "openbsd-data",
    description: "test.data of the OpenBSD lab: its history",
    reads: "a point per repeat; time = checkout, boot = RUN/CHECKOUT; several hosts as test@host",
    writes: "the same, with run 0 and checkout 0 if unknown; not commits, order, other boots, fractions of seconds, runs without a value",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const HEADER: &str = "# test subtest run checkout repeat value unit host";
const HOST: &str = "host.name";
/// The lab's text for a value without a name; also written for a host without a name.
const UNKNOWN: &str = "unknown";

/// A line of the file.
struct DataLine<'a> {
    line: u64,
    test: &'a str,
    subtest: Option<&'a str>,
    run: i64,
    checkout: i64,
    repeat: &'a str,
    value: f64,
    unit: &'a str,
    host: &'a str,
}

fn begins(text: &str) -> bool {
    text.trim_start().starts_with("# test subtest ")
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let rows: Vec<DataLine> = lines(file.text)
        .filter(|(_, line)| !line.starts_with('#'))
        .map(|(number, line)| row(file, number, line))
        .collect::<Result<_, _>>()?;
    let hosts: BTreeSet<&str> = rows.iter().map(|row| row.host).collect();
    let mut gather = Gather::default();
    let mut last: HashMap<(String, Option<&str>), (i64, i64, &str)> = HashMap::new();
    for row in rows {
        let test = if hosts.len() > 1 { format!("{}@{}", row.test, row.host) } else { row.test.to_owned() };
        let series = gather.series(&test, None, row.subtest, row.unit);
        agree_on_unit(series, row.unit, file.name, row.line)?;
        let repeat = (row.run, row.checkout, row.repeat);
        let again = last.insert((test, row.subtest), repeat) == Some(repeat);
        match series.points.last_mut().map(|point| &mut point.measured) {
            Some(Measured::Values(values)) if again => values.push(row.value),
            _ => series.points.push(point(&row)),
        }
    }
    let mut dataset = gather.dataset(file.name, "rows of the OpenBSD lab's test.data")?;
    if let Some(host) = hosts.first().filter(|host| hosts.len() == 1 && **host != UNKNOWN) {
        dataset.facts.text(HOST, *host);
    }
    Ok(dataset)
}

fn row<'a>(file: File<'_>, line: u64, text: &'a str) -> Result<DataLine<'a>, ReadError> {
    let columns: Vec<&str> = text.split_whitespace().collect();
    let [test, subtest, run, checkout, repeat, value, unit, ref host @ ..] = columns[..] else {
        return Err(ReadError::new(file.name, line, format!("{} columns", columns.len()), "8 columns"));
    };
    let seconds = |text: &str, what: &str| {
        text.parse::<i64>()
            .ok()
            .filter(|seconds| seconds.checked_mul(1000).is_some())
            .ok_or_else(|| ReadError::new(file.name, line, quoted(text), format!("{what} in seconds since 1970")))
    };
    Ok(DataLine {
        line,
        test,
        subtest: Some(subtest).filter(|subtest| *subtest != UNKNOWN),
        run: seconds(run, "the run")?,
        checkout: seconds(checkout, "the checkout")?,
        repeat,
        value: text::finite(file.name, line, value, "a value")?,
        unit,
        host: host.first().copied().unwrap_or(UNKNOWN),
    })
}

fn point(row: &DataLine<'_>) -> DataPoint {
    DataPoint {
        commit: None,
        time: Some(UnixMillis(row.checkout * 1000)).filter(|at| at.0 != 0),
        boot: (row.run != 0).then(|| format!("{}/{}", row.run, row.checkout)),
        order: None,
        measured: Measured::Values(vec![row.value]),
    }
}

fn checkout(point: &DataPoint) -> i64 {
    point.time.map_or(0, |at| at.0.div_euclid(1000))
}

/// The run in the boot `RUN/CHECKOUT`, if the checkout is this point's.
fn run(point: &DataPoint) -> Option<i64> {
    let run: i64 = point.boot.as_deref()?.split_once('/')?.0.parse().ok()?;
    let usual = format!("{run}/{}", checkout(point));
    (run != 0 && run.checked_mul(1000).is_some() && point.boot.as_deref() == Some(usual.as_str())).then_some(run)
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .facts(|key, value| matches!(value, FactValue::Text(host) if key == HOST && word(host) == *host && host != UNKNOWN))
        .no_commits()
        .whole_seconds()
        .boots(|point| run(point).is_some())
        .no_order()
        .no_missing()
        .no_empty()
        .no_summaries()
        .fold_tasks()
        .names(|name| if name.starts_with('#') { word(&format!("_{name}")) } else { word(name) })
        .measures(|series| series.measure.as_deref().map(word).filter(|measure| measure != UNKNOWN))
        .units(|series| if series.unit.is_empty() { "1".to_owned() } else { word(&series.unit) })
        .directions(|series| values::direction_of_unit(&series.unit))
        .ready(FORMAT.name)?;
    let host = reduced.dataset.facts.get_text(HOST).unwrap_or(UNKNOWN);
    let mut text = format!("{HEADER}\n");
    for series in &reduced.dataset.series {
        rows(&mut text, series, host);
    }
    Ok(Written::file("test.data", text, reduced))
}

fn rows(text: &mut String, series: &Series, host: &str) {
    let mut repeats: HashMap<(i64, i64), u32> = HashMap::new();
    for point in &series.points {
        let (run, checkout) = (run(point).unwrap_or(0), checkout(point));
        let repeat = repeats.entry((run, checkout)).or_default();
        for value in point.measured.values() {
            let (test, unit) = (&series.name, &series.unit);
            let subtest = series.measure.as_deref().unwrap_or(UNKNOWN);
            writeln!(text, "{test} {subtest} {run} {checkout} {repeat:03} {value} {unit} {host}")
                .expect("a string takes everything");
        }
        *repeat += 1;
    }
}
