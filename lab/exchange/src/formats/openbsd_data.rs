//! The OpenBSD lab's `test.data` (bluhm/regress-all, `perform-html.pl`): lines `test subtest run checkout repeat value unit host`.
//!
//! `run` and `checkout` are seconds since 1970: the start of the tests, and the time of the sources that were built, which is a
//! point's time. The boot is `RUN/CHECKOUT`, because each checkout is booted; the file does not say whether repeats were booted too.
//! A repeat is a run, so values of the same repeat stay together. If a file has several hosts, names end in `@HOST`.

use crate::decimal;
use crate::direction;
use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit};
use crate::recognition::Evidence;
use crate::reduction::Reduction;
use crate::text::{lines, quoted, word};
use crate::written::Written;
use faultline_model::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_model::facts::FactValue;
use faultline_model::time::UnixMillis;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "openbsd-data",
    description: "the OpenBSD lab's test.data: values over checkouts and repeats",
    is_directory: false,
    recognise: |glance| Evidence::Mark.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const HEADER: &str = "# test subtest run checkout repeat value unit host";
const HOST: &str = "host.name";
/// The lab's text for a value without a name, and ours for a host without a name.
const UNKNOWN: &str = "unknown";

/// One line.
struct Row<'a> {
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
    let rows: Vec<Row> = lines(file.text)
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

fn row<'a>(file: File<'_>, line: u64, text: &'a str) -> Result<Row<'a>, ReadError> {
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
    Ok(Row {
        line,
        test,
        subtest: Some(subtest).filter(|subtest| *subtest != UNKNOWN),
        run: seconds(run, "the run")?,
        checkout: seconds(checkout, "the checkout")?,
        repeat,
        value: decimal::finite(file.name, line, value, "a value")?,
        unit,
        host: host.first().copied().unwrap_or(UNKNOWN),
    })
}

fn point(row: &Row<'_>) -> DataPoint {
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

/// The run of a boot `RUN/CHECKOUT`, if the checkout is this point's.
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
        .directions(|series| direction::of_unit(&series.unit))
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
