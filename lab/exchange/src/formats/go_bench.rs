//! Output of Go's benchmarks (`go test -bench`), in the format of
//! golang.org/design/14313-benchmark-format.
//!
//! `BenchmarkName-8 N VALUE UNIT…`: the number after the dash is GOMAXPROCS, read as tasks. `ns/op`
//! is the benchmark itself, other units are measures. A line is a run, because tools that compare
//! such files count lines as samples; a run's intervals are written as their median. `commit:` and
//! `commit-time:` apply to the lines after them. `Unit UNIT better=higher` states a direction.
//! Iteration counts are not read, and written as 1. With several packages, names begin with the
//! package.
//!
//! Samples: Go 1.26.8; `count.txt`: `go test -bench . -count 4 -cpu 1,2 -benchtime 20ms ./...`;
//! `verbose.txt`: `go test -v -run xx -bench 'Skip|Par' -count 2 -benchtime 5ms ./...`; the line
//! `cpu:` was made neutral.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::{Gather, missing, value};
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::{self, lines, on_one_line, quoted, word};
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_record::direction::Direction;
use faultline_record::facts::{FactValue, Facts};
use faultline_record::time::UnixMillis;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "go-bench",
    description: "the text that Go's benchmarks print (go test -bench)",
    reads: "a run per line; -8 as tasks; ns/op as the benchmark, other units as measures; commit:, commit-time:, environment lines as facts, --- FAIL, --- SKIP",
    writes: "a line per run with 1 iteration, Unit lines; not other facts, boots, order, intervals, summaries; measure and unit become one word",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.text_begins(begins)),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

const PREFIX: &str = "Benchmark";
const TIME_PER_OPERATION: &str = "ns/op";
/// Lines read as facts, with the fact keys.
const FACTS: [(&str, &str); 5] = [
    ("goos", "go.goos"),
    ("goarch", "go.goarch"),
    ("pkg", "go.pkg"),
    ("cpu", "cpu.model"),
    ("toolchain", "go.toolchain"),
];
const COMMIT: &str = "commit";
const COMMIT_TIME: &str = "commit-time";
const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";

fn begins(text: &str) -> bool {
    lines(text).any(|(_, line)| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let counted = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
        (first.starts_with(PREFIX) && counted)
            || ["goos: ", "--- FAIL: Benchmark", "--- SKIP: Benchmark"].iter().any(|start| line.starts_with(start))
    })
}

/// The settings of earlier lines that apply to the next ones.
#[derive(Default)]
struct Context {
    commit: Option<String>,
    time: Option<UnixMillis>,
    package: String,
}

impl Context {
    /// A run of the last named commit and time.
    fn run(&self, run: DataPoint) -> DataPoint {
        DataPoint { commit: self.commit.clone(), time: self.time, ..run }
    }
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    read_lines(file.name, &lines(file.text).collect::<Vec<_>>(), "lines `BenchmarkName N VALUE UNIT`")
}

/// Reads lines of Go's benchmarks, each with its line number in the file. `expected` describes them
/// in the error for none.
pub(super) fn read_lines(file: &str, lines: &[(u64, &str)], expected: &str) -> Result<Dataset, ReadError> {
    let packages: BTreeSet<&str> = lines.iter().filter_map(|(_, line)| setting(line, "pkg")).collect();
    let mut gather = Gather::default();
    let mut facts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut better: HashMap<&str, Direction> = HashMap::new();
    let mut context = Context::default();
    for &(number, line) in lines {
        if let Some((key, value)) = FACTS.iter().find_map(|(name, key)| Some((*key, setting(line, name)?))) {
            facts.entry(key).or_default().insert(value);
            if key == "go.pkg" && packages.len() > 1 {
                context.package = format!("{value}.");
            }
        } else if let Some(commit) = setting(line, COMMIT) {
            context.commit = Some(commit.to_owned()).filter(|commit| !commit.is_empty());
        } else if let Some(time) = setting(line, COMMIT_TIME) {
            context.time = commit_time(file, number, time)?;
        } else if let Some(unit) = line.strip_prefix("Unit ") {
            better.extend(metadata(unit));
        } else if line.starts_with(PREFIX) {
            read_result(&mut gather, file, number, line, &context)?;
        } else if let Some((name, why)) = read_status(line) {
            let (name, tasks) = name_and_tasks(&format!("{}{name}", context.package));
            let series = gather.series(&name, tasks, None, TIME_PER_OPERATION);
            series.points.push(context.run(missing(why)));
        }
    }
    let mut dataset = gather.dataset(file, expected)?;
    for series in &mut dataset.series {
        series.direction = better.get(series.unit.as_str()).copied().or_else(|| usual_direction(&series.unit));
    }
    dataset.facts = agreed(facts);
    Ok(dataset)
}

/// The value of a line `KEY: VALUE`.
fn setting<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.strip_prefix(key)?.strip_prefix(':')?;
    (value.is_empty() || value.starts_with(char::is_whitespace)).then(|| value.trim())
}

fn commit_time(file: &str, line: u64, text: &str) -> Result<Option<UnixMillis>, ReadError> {
    if text.is_empty() {
        return Ok(None);
    }
    text::parse_time(text)
        .map(Some)
        .ok_or_else(|| ReadError::new(file, line, quoted(text), "a time: 2026-01-31T12:00:00Z"))
}

/// The facts on which all lines agree.
fn agreed(found: BTreeMap<&str, BTreeSet<&str>>) -> Facts {
    let mut facts = Facts::default();
    for (key, values) in found {
        if let (Some(value), 1) = (values.first(), values.len()) {
            facts.text(key, *value);
        }
    }
    facts
}

/// Unit and direction in `UNIT better=higher`.
fn metadata(text: &str) -> Option<(&str, Direction)> {
    let mut words = text.split_whitespace();
    let unit = words.next()?;
    let word = words.find_map(|word| word.strip_prefix("better="))?;
    Some((unit, Direction::from_word(word)?))
}

/// Benchmark and outcome of a line `--- FAIL: BenchmarkName`.
fn read_status(line: &str) -> Option<(&str, &'static str)> {
    let line = line.trim_start();
    let status = [("--- FAIL: ", FAILED), ("--- SKIP: ", SKIPPED)];
    let (rest, why) = status.iter().find_map(|(prefix, why)| Some((line.strip_prefix(prefix)?, *why)))?;
    Some((rest.split_whitespace().next()?.strip_prefix(PREFIX)?, why))
}

fn read_result(gather: &mut Gather, file: &str, number: u64, line: &str, context: &Context) -> Result<(), ReadError> {
    let mut words = line[PREFIX.len()..].split_whitespace();
    let named =
        if line[PREFIX.len()..].starts_with(char::is_whitespace) { "" } else { words.next().unwrap_or_default() };
    // A name alone starts a benchmark (`-v`); other words are the benchmark's own output.
    if words.next().is_none_or(|count| count.parse::<u64>().is_err()) {
        return Ok(());
    }
    let pairs: Vec<&str> = words.collect();
    if pairs.is_empty() || pairs.len() % 2 == 1 {
        return Err(ReadError::new(file, number, quoted(line), "`BenchmarkName N VALUE UNIT…`"));
    }
    let (name, tasks) = name_and_tasks(&format!("{}{named}", context.package));
    for pair in pairs.chunks_exact(2) {
        let figure = text::finite(file, number, pair[0], "a value")?;
        let measure = Some(pair[1]).filter(|unit| *unit != TIME_PER_OPERATION);
        gather.series(&name, tasks, measure, pair[1]).points.push(context.run(value(figure)));
    }
    Ok(())
}

/// Splits `Sum/n=10-8` into `Sum/n=10` and 8 tasks.
fn name_and_tasks(text: &str) -> (String, Option<u32>) {
    let parts = text
        .rsplit_once('-')
        .filter(|(name, digits)| !name.is_empty() && !digits.starts_with(['0', '+']) && digits.parse::<u32>().is_ok());
    match parts {
        Some((name, digits)) => (name.to_owned(), digits.parse().ok()),
        None => (text.to_owned(), None),
    }
}

fn usual_direction(unit: &str) -> Option<Direction> {
    match unit {
        "B/op" | "allocs/op" => Some(Direction::Lower),
        unit => values::direction_of_unit(unit),
    }
}

/// A name in Go's form, one word with an initial capital, and the name that is read from it.
fn identity(series: &Series) -> (String, Option<u32>) {
    let name = word(&series.name);
    let mut letters = name.chars();
    let name: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    match series.tasks {
        Some(tasks) => name_and_tasks(&format!("{name}-{tasks}")),
        None => name_and_tasks(&name),
    }
}

/// The unit in Go's form, including the measure; `None` for the benchmark itself.
fn measure(series: &Series) -> Option<String> {
    let unit = match (series.measure.as_deref(), series.unit.as_str()) {
        (None | Some(""), "") => "value".to_owned(),
        (None | Some(""), unit) => word(unit),
        (Some(measure), unit) if unit.is_empty() || unit == measure => word(measure),
        (Some(measure), unit) => word(&format!("{measure}-{unit}")),
    };
    Some(unit).filter(|unit| unit != TIME_PER_OPERATION)
}

fn unit(series: &Series) -> &str {
    series.measure.as_deref().unwrap_or(TIME_PER_OPERATION)
}

/// The key of a block of lines: time and commit.
type Block = (Option<UnixMillis>, Option<String>);

fn block(point: &DataPoint) -> Block {
    (point.time, point.commit.clone())
}

fn kept_fact(key: &str, value: &FactValue) -> bool {
    let line_of = |text: &String| on_one_line(text) == *text && !text.is_empty();
    FACTS.iter().any(|(_, known)| *known == key) && matches!(value, FactValue::Text(text) if line_of(text))
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .facts(kept_fact)
        .no_boots()
        .no_order()
        .no_summaries()
        .medians()
        .commits(|commit| Some(on_one_line(commit)).filter(|commit| !commit.is_empty()))
        .times(|time| text::iso_time(time).is_some())
        .identities(identity)
        .measures(measure)
        .missing(|series| series.measure.is_none())
        .reasons(|why| if why == SKIPPED { SKIPPED.to_owned() } else { FAILED.to_owned() })
        .no_empty()
        .units(|series| unit(series).to_owned());
    let better = directions(&reduced.dataset.series);
    let reduced = reduced
        .directions(|series| better.get(&series.unit).copied().or_else(|| usual_direction(&series.unit)))
        .arranged(|dataset| arrange(&mut dataset.series))
        .ready(FORMAT.name)?;
    let mut text = String::new();
    for (name, key) in FACTS {
        if let Some(fact) = reduced.dataset.facts.get_text(key) {
            line(&mut text, format_args!("{name}: {fact}"));
        }
    }
    for (unit, direction) in better {
        line(&mut text, format_args!("Unit {unit} better={}", direction.word()));
    }
    blocks(&mut text, &reduced.dataset.series);
    Ok(Written::file("bench.txt", text, reduced))
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes everything");
}

/// Directions that do not follow from units: those of the first benchmark with each unit.
fn directions(series: &[Series]) -> BTreeMap<String, Direction> {
    let mut better = BTreeMap::new();
    for series in series {
        if let Some(direction) = series.direction.filter(|_| series.direction != usual_direction(&series.unit)) {
            better.entry(series.unit.clone()).or_insert(direction);
        }
    }
    better
}

/// Sorts benchmarks and runs like the lines: by commit, then benchmark, then measure.
fn arrange(series: &mut [Series]) {
    for series in series.iter_mut() {
        series.points.sort_by_cached_key(block);
    }
    let mut groups: HashMap<(String, Option<u32>), (Block, usize)> = HashMap::new();
    for series in series.iter() {
        let (first, next) = (block(&series.points[0]), groups.len());
        let group = groups.entry((series.name.clone(), series.tasks)).or_insert((first.clone(), next));
        group.0 = first.min(std::mem::take(&mut group.0));
    }
    let failed = |series: &Series| matches!(series.points[0].measured, Measured::Missing(_));
    series.sort_by_cached_key(|series| {
        let group = groups[&(series.name.clone(), series.tasks)].clone();
        (block(&series.points[0]), group, failed(series))
    });
}

/// The runs of a series in a block, with the number of its benchmark.
type Runs<'a> = (usize, &'a Series, &'a [DataPoint]);

fn blocks(text: &mut String, series: &[Series]) {
    let mut groups: HashMap<(&str, Option<u32>), usize> = HashMap::new();
    let mut blocks: BTreeMap<Block, Vec<Runs<'_>>> = BTreeMap::new();
    for series in series {
        let next = groups.len();
        let group = *groups.entry((&series.name, series.tasks)).or_insert(next);
        for runs in series.points.chunk_by(|a, b| a.time == b.time && a.commit == b.commit) {
            blocks.entry(block(&runs[0])).or_default().push((group, series, runs));
        }
    }
    let mut before: Block = (None, None);
    for (block, mut runs) in blocks {
        if block.1 != before.1 {
            line(text, format_args!("{COMMIT}: {}", block.1.as_deref().unwrap_or_default()));
        }
        if block.0 != before.0 {
            line(text, format_args!("{COMMIT_TIME}: {}", block.0.and_then(text::iso_time).unwrap_or_default()));
        }
        before = block;
        runs.sort_by_key(|(group, ..)| *group);
        for runs in runs.chunk_by(|a, b| a.0 == b.0) {
            results(text, runs);
        }
    }
}

/// The lines of one benchmark: one per run with all measures.
fn results(text: &mut String, runs: &[Runs<'_>]) {
    let (_, series, _) = runs[0];
    let tasks = series.tasks.map_or(String::new(), |tasks| format!("-{tasks}"));
    let name = format!("{PREFIX}{}{tasks}", series.name);
    let mut going: Vec<_> = runs.iter().collect();
    for run in 0.. {
        going.retain(|(_, _, points)| run < points.len());
        if going.is_empty() {
            return;
        }
        let (mut pairs, mut status) = (String::new(), None);
        for (_, series, points) in &going {
            match &points[run].measured {
                Measured::Missing(why) if why == SKIPPED => status = Some("SKIP"),
                Measured::Missing(_) | Measured::Failed(_) => status = Some("FAIL"),
                measured => pairs.extend(measured.values().iter().map(|value| format!("\t{value} {}", unit(series)))),
            }
        }
        if !pairs.is_empty() {
            line(text, format_args!("{name}\t1{pairs}"));
        }
        if let Some(status) = status {
            line(text, format_args!("--- {status}: {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_after_the_last_dash_is_tasks() {
        assert_eq!(name_and_tasks("Sum/n=10-8"), ("Sum/n=10".to_owned(), Some(8)));
        assert_eq!(name_and_tasks("Sum-08"), ("Sum-08".to_owned(), None));
        assert_eq!(name_and_tasks("-8"), ("-8".to_owned(), None));
        assert_eq!(name_and_tasks("a-b"), ("a-b".to_owned(), None));
        assert_eq!(name_and_tasks("a-99999999999"), ("a-99999999999".to_owned(), None));
    }

    #[test]
    fn what_a_unit_says_is_read() {
        let text =
            "Unit p99-ns better=lower assume=nothing\nBenchmarkA-2 10 1.5 ns/op 7 p99-ns\nBenchmarkB 1 oops\nnoise\n";
        let error = read(File { name: "a.txt", text }).unwrap_err().to_string();
        assert_eq!(error, "a.txt:3: found 'BenchmarkB 1 oops', expected `BenchmarkName N VALUE UNIT…`");
        let text = text.replace("B 1 oops", "B says 1");
        let dataset = read(File { name: "a.txt", text: &text }).unwrap();
        let seen: Vec<_> = dataset.series.iter().map(|series| (series.to_string(), series.direction)).collect();
        assert_eq!(
            seen,
            [("A×2".to_owned(), Some(Direction::Lower)), ("A p99-ns×2".to_owned(), Some(Direction::Lower))]
        );
    }
}
