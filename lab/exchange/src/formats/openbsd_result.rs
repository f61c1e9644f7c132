//! The OpenBSD lab's `test.result` (bluhm/regress-all, `perform.pl`): lines `VALUE NUMBER UNIT
//! NAME` or `SUBVALUE …`, then their test's status, `STATUS<TAB>TEST<TAB>MESSAGE`.
//!
//! A test that did not pass has no values, even if it printed some. `XFAIL` and `XPASS` concern its
//! tracer only.
//!
//! Samples: by hand, after `perform.pl` and `perform-html.pl` of regress-all, commit f91dceb; they
//! need OpenBSD; lines as these scripts print them, with made-up figures.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, agree_on_unit, missing};
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::{self, lines, on_one_line, quoted, word};
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use std::collections::HashMap;
use std::fmt::Write as _;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "openbsd-result",
    description: "test.result of the OpenBSD lab: one execution of its tests",
    reads: "VALUE and SUBVALUE as measures; status and message of a failed test",
    writes: "a status line after each run's values; not facts, commits, times, boots, order, runs without a value",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const STATUSES: [&str; 12] =
    ["PASS", "XFAIL", "XPASS", "SKIP", "FAIL", "NOEXIT", "NOTERM", "NORUN", "NOLOG", "NOCLEAN", "NOEXIST", "EXIST"];
/// Statuses with valid values.
const PASSED: [&str; 4] = ["PASS", "XFAIL", "XPASS", "SKIP"];
const EXPECTED: &str = "`VALUE NUMBER UNIT NAME` or `STATUS TEST MESSAGE`";

/// A value before its test's status.
struct Value<'a> {
    line: u64,
    number: f64,
    unit: &'a str,
    name: Option<&'a str>,
}

fn begins(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, line)| {
        let first = line.split_whitespace().next().unwrap_or_default();
        first == "VALUE" || first == "SUBVALUE" || (STATUSES.contains(&first) && line[first.len()..].starts_with('\t'))
    })
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let mut gather = Gather::default();
    let mut values = Vec::new();
    let mut last = 1;
    for (number, line) in lines(file.text) {
        last = number;
        match line.split_whitespace().next().unwrap_or_default() {
            "VALUE" | "SUBVALUE" => values.push(value(file, number, line)?),
            status if STATUSES.contains(&status) => {
                let (test, message) = test_and_message(file, number, &line[status.len()..])?;
                settle(&mut gather, file, test, (status, message), std::mem::take(&mut values))?;
            }
            _ => return Err(ReadError::new(file.name, number, quoted(line), EXPECTED)),
        }
    }
    if !values.is_empty() {
        return Err(ReadError::new(file.name, last, "the end", "the status of the test that has the last values"));
    }
    gather.dataset(file.name, "values of the OpenBSD lab")
}

fn value<'a>(file: File<'_>, number: u64, line: &'a str) -> Result<Value<'a>, ReadError> {
    let mut rest = line.trim_start();
    let mut next = || {
        let (first, others) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = others.trim_start();
        first
    };
    let (_, figure, unit) = (next(), next(), next());
    if unit.is_empty() {
        return Err(ReadError::new(file.name, number, quoted(line), "`VALUE NUMBER UNIT NAME`"));
    }
    let figure = text::finite(file.name, number, figure, "a value")?;
    Ok(Value { line: number, number: figure, unit, name: Some(rest).filter(|name| !name.is_empty()) })
}

fn test_and_message<'a>(file: File<'_>, line: u64, rest: &'a str) -> Result<(&'a str, &'a str), ReadError> {
    let rest = rest.trim_start();
    let (test, message) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match test {
        "" => Err(ReadError::new(file.name, line, "a status without a test", EXPECTED)),
        _ => Ok((test, message.trim())),
    }
}

/// Adds the values to their test, or the reason for having none.
fn settle(
    gather: &mut Gather,
    file: File<'_>,
    test: &str,
    (status, message): (&str, &str),
    values: Vec<Value<'_>>,
) -> Result<(), ReadError> {
    if !PASSED.contains(&status) || (values.is_empty() && status != "PASS") {
        let why = format!("{status} {message}");
        gather.series(test, None, None, "").points.push(missing(why.trim()));
        return Ok(());
    }
    let mut measures: Vec<(Option<&str>, Vec<f64>)> = Vec::new();
    let mut places = HashMap::new();
    for value in &values {
        agree_on_unit(gather.series(test, None, value.name, value.unit), value.unit, file.name, value.line)?;
        let place = *places.entry(value.name).or_insert_with(|| {
            measures.push((value.name, Vec::new()));
            measures.len() - 1
        });
        measures[place].1.push(value.number);
    }
    for (name, values) in measures {
        gather.series(test, None, name, "").points.push(DataPoint::of(Measured::Values(values)));
    }
    Ok(())
}

/// Status and message of a run without a value.
fn reason(why: &str) -> String {
    let why = on_one_line(why);
    let status = why.split_whitespace().next().unwrap_or_default();
    let message = if STATUSES[1..].contains(&status) { why[status.len()..].trim() } else { &why };
    let status = if STATUSES[1..].contains(&status) { status } else { "FAIL" };
    format!("{status} {message}").trim().to_owned()
}

fn has_values(series: &Series) -> bool {
    series.points.iter().any(|point| !point.measured.values().is_empty())
}

fn measure(series: &Series) -> Option<String> {
    Some(on_one_line(series.measure.as_deref()?)).filter(|name| !name.is_empty())
}

fn unit(series: &Series) -> String {
    match series.unit.as_str() {
        _ if !has_values(series) => String::new(),
        "" => "1".to_owned(),
        unit => word(unit),
    }
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .no_facts()
        .no_commits()
        .no_times()
        .no_boots()
        .no_order()
        .no_summaries()
        .fold_tasks()
        .names(word)
        .measures(measure)
        .missing(|series| series.measure.is_none())
        .reasons(reason)
        .no_empty()
        .units(unit)
        .directions(|series| values::direction_of_unit(&series.unit))
        .arranged(|dataset| {
            let mut tests = HashMap::new();
            for series in &dataset.series {
                let next = tests.len();
                tests.entry(series.name.clone()).or_insert(next);
            }
            // The status of a run without a value follows the values of the others.
            let failed_first = |series: &Series| matches!(series.points[0].measured, Measured::Missing(_));
            dataset.series.sort_by_cached_key(|series| (tests[&series.name], failed_first(series)));
        })
        .ready(FORMAT.name)?;
    let text = reduced.dataset.series.chunk_by(|a, b| a.name == b.name).map(test).collect();
    Ok(Written::file("test.result", text, reduced))
}

/// The lines of one test, run by run; values come before statuses.
fn test(measures: &[Series]) -> String {
    let name = &measures[0].name;
    let mut text = String::new();
    let mut going: Vec<&Series> = measures.iter().collect();
    for run in 0.. {
        going.retain(|series| run < series.points.len());
        if going.is_empty() {
            return text;
        }
        let mut failed = String::new();
        let before = text.len();
        for series in &going {
            let measured = &series.points[run].measured;
            for value in measured.values() {
                let measure = series.measure.as_deref().unwrap_or_default();
                let line = format!("VALUE {value} {} {measure}", series.unit);
                writeln!(text, "{}", line.trim_end()).expect("a string takes everything");
            }
            if let Measured::Missing(why) = measured {
                let (status, message) = why.split_once(' ').unwrap_or((why, ""));
                writeln!(failed, "{status}\t{name}\t{message}").expect("a string takes everything");
            }
        }
        if text.len() > before {
            writeln!(text, "PASS\t{name}\t").expect("a string takes everything");
        }
        text.push_str(&failed);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_status_and_a_message() {
        assert_eq!(reason("NOEXIT Command failed"), "NOEXIT Command failed");
        assert_eq!(reason("hung"), "FAIL hung");
        assert_eq!(reason("PASS"), "FAIL PASS");
        assert_eq!(reason(" \n"), "FAIL");
        assert_eq!(reason("FAIL"), "FAIL");
    }
}
