//! github-action-benchmark's history (`data.js`, or its JSON), and the arrays of results of its
//! tools `customBiggerIsBetter` and `customSmallerIsBetter`.
//!
//! An entry of the history has a commit and a figure per benchmark, read as a run. A result with a
//! range (`± 24`, `±1.5%`, `stddev: 0.003`) summarises several values; the range becomes an
//! interval or a deviation. The direction follows from the unit, otherwise from the entry's tool.
//! An array does not name its tool. With several suites, names begin with the suite.
//!
//! Samples: by hand, after `src/write.ts` and `src/extract.ts`; the action runs on GitHub;
//! `data.js`: two suites; `data.json`: the JSON of one of them; `custom.json`: results for a custom
//! tool.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit};
use crate::json::{self, Members};
use crate::recognition::{FormatMatch, Glance};
use crate::text::{self, quoted};
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::direction::Direction;
use faultline_record::time::UnixMillis;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "github-action-benchmark",
    description: "github-action-benchmark's data.js, its JSON, and arrays of custom results",
    reads: "a run per entry with commit and time; `± N`, `± N%` as an interval, `stddev: N` as deviation; suite/name",
    writes: "",
    is_directory: false,
    recognise,
    content: Content::Values { read: Read::File(read), write: None },
};

/// The text before the JSON in `data.js`.
const SCRIPT: &str = "window.BENCHMARK_DATA";
/// Tools whose direction takes precedence over the unit's.
const CUSTOM: [(&str, Direction); 2] =
    [("customBiggerIsBetter", Direction::Higher), ("customSmallerIsBetter", Direction::Lower)];
/// Other tools for which the action takes higher values as better.
const MORE_IS_BETTER: [&str; 2] = ["benchmarkjs", "pytest"];

/// Recognises an array of results by its shape only: other tools have similar ones.
fn recognise(glance: &Glance<'_>) -> Option<FormatMatch> {
    let script = glance.text_begins(|text| text.trim_start().starts_with(SCRIPT));
    let history = glance.json_has(&["entries", "lastUpdate"]);
    let results = || FormatMatch::Shape.when(glance.is_json_list() && glance.json_has(&["name", "value", "unit"]));
    FormatMatch::Mark.when(script || history).or_else(results)
}

#[derive(Deserialize)]
struct History {
    entries: Members<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    commit: Commit,
    /// Time of measurement in milliseconds since 1970.
    date: Option<i64>,
    #[serde(default)]
    tool: String,
    benches: Vec<Bench>,
}

#[derive(Deserialize)]
struct Commit {
    id: Option<String>,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct Bench {
    name: Value,
    value: Value,
    unit: Value,
    range: Option<Value>,
}

/// Properties shared by all results of an entry.
struct EntryContext<'a> {
    suite: Option<&'a str>,
    tool: &'a str,
    /// A run without its figure.
    run: DataPoint,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let json = without_script(file.text);
    let text = File { name: file.name, text: &json };
    let mut gather = Gather::default();
    if json.trim_start().starts_with('[') {
        let benches: Vec<Bench> = json::parse(text, "results for github-action-benchmark")?;
        let context = EntryContext { suite: None, tool: "", run: DataPoint::of(Measured::Values(Vec::new())) };
        read_benches(&mut gather, file, &context, &benches)?;
    } else {
        let History { entries } = json::parse(text, "the data of github-action-benchmark")?;
        let several = entries.0.len() > 1;
        for (suite, entries) in &entries.0 {
            for entry in entries {
                let context = EntryContext { suite: several.then_some(suite), tool: &entry.tool, run: run(entry) };
                read_benches(&mut gather, file, &context, &entry.benches)?;
            }
        }
    }
    gather.dataset(file.name, "results with `name`, `value` and `unit`")
}

/// The JSON of a script, preceded by blanks so that positions do not change.
fn without_script(text: &str) -> Cow<'_, str> {
    let Some(at) = text.trim_start().starts_with(SCRIPT).then(|| text.find('=')).flatten() else {
        return Cow::Borrowed(text);
    };
    let json = text[at + 1..].trim_end().trim_end_matches(';');
    let blank = text[..=at].chars().map(|c| if c == '\n' { '\n' } else { ' ' });
    Cow::Owned(blank.chain(json.chars()).collect())
}

fn run(entry: &Entry) -> DataPoint {
    let committed_at = entry.commit.timestamp.as_deref().and_then(text::parse_time);
    DataPoint {
        commit: entry.commit.id.clone().filter(|id| !id.is_empty()),
        time: committed_at.or(entry.date.map(UnixMillis)),
        order: entry.date.and_then(|date| u64::try_from(date).ok()),
        ..DataPoint::of(Measured::Values(Vec::new()))
    }
}

fn read_benches(
    gather: &mut Gather,
    file: File<'_>,
    context: &EntryContext<'_>,
    benches: &[Bench],
) -> Result<(), ReadError> {
    for bench in benches {
        let (name, unit) = (word(&bench.name), word(&bench.unit));
        let value = figure(&bench.value).ok_or_else(|| {
            let found = format!("the value of {}, which is no finite number", quoted(&name));
            ReadError::new(file.name, None, found, "a finite number as `value`")
        })?;
        let name = context.suite.map_or_else(|| name.clone().into_owned(), |suite| format!("{suite}/{name}"));
        let series = gather.series(&name, None, None, &unit);
        agree_on_unit(series, &unit, file.name, None)?;
        series.direction = direction(context.tool, &unit);
        series.points.push(DataPoint { measured: measured(value, bench.range.as_ref()), ..context.run.clone() });
    }
    Ok(())
}

/// A text; the action also accepts numbers.
fn word(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// A finite number, or its text.
fn figure(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| number.is_finite())
}

fn direction(tool: &str, unit: &str) -> Option<Direction> {
    let custom = CUSTOM.iter().find(|(name, _)| *name == tool).map(|(_, direction)| *direction);
    let of_tool = || match tool {
        "" => None,
        tool if MORE_IS_BETTER.contains(&tool) => Some(Direction::Higher),
        _ => Some(Direction::Lower),
    };
    custom.or_else(|| values::direction_of_unit(unit)).or_else(of_tool)
}

fn measured(value: f64, range: Option<&Value>) -> Measured {
    let Some(range) = range.filter(|range| !range.is_null()) else {
        return Measured::Values(vec![value]);
    };
    let (reach, deviation) = reach_and_deviation(value, &word(range));
    let bound = |reach: f64| Some(value + reach).filter(|bound| bound.is_finite());
    let (low, high) = (reach.and_then(|reach| bound(-reach)), reach.and_then(bound));
    Measured::Summary(Summed { value, low, high, deviation, n: None })
}

/// A range: the half-width of an interval, or a standard deviation.
fn reach_and_deviation(value: f64, range: &str) -> (Option<f64>, Option<f64>) {
    let range = range.trim();
    let deviation = range.strip_prefix("stddev:");
    let text = deviation.or(range.strip_prefix('±')).or(range.strip_prefix("+/-")).unwrap_or(range).trim();
    let number = match text.strip_suffix('%') {
        Some(share) => share.trim().parse::<f64>().ok().map(|share| value.abs() * share / 100.0),
        None => text.parse().ok(),
    };
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    if deviation.is_some() { (None, number) } else { (number, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_in_many_ways() {
        for (range, expected) in [
            ("± 24", (Some(24.0), None)),
            ("±1.5%", (Some(3.0), None)),
            ("+/- 7", (Some(7.0), None)),
            ("3", (Some(3.0), None)),
            ("stddev: 0.25", (None, Some(0.25))),
            ("wide", (None, None)),
            ("± NaN", (None, None)),
        ] {
            assert_eq!(reach_and_deviation(200.0, range), expected, "{range}");
        }
    }

    #[test]
    fn the_custom_tools_say_which_way_is_better_and_others_by_their_unit() {
        assert_eq!(direction("customBiggerIsBetter", "s"), Some(Direction::Higher));
        assert_eq!(direction("customSmallerIsBetter", "x/s"), Some(Direction::Lower));
        assert_eq!(direction("pytest", "iter/sec"), Some(Direction::Higher));
        assert_eq!(direction("jmh", "ops/s"), Some(Direction::Higher));
        assert_eq!(direction("go", "B/op"), Some(Direction::Lower));
        assert_eq!((direction("", "points"), direction("", "ms")), (None, Some(Direction::Lower)));
    }

    #[test]
    fn errors_in_a_script_are_found_at_their_place() {
        let text = "window.BENCHMARK_DATA = {\"entries\": {\"a\": 3}}";
        let error = read(File { name: "data.js", text }).unwrap_err().to_string();
        assert_eq!(error, "data.js:1:43: found integer `3`, expected a list in the data of github-action-benchmark");
    }
}
