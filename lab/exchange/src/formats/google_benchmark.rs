//! google-benchmark's JSON (`--benchmark_format=json`, `--benchmark_out`).
//!
//! An entry of the type `iteration` is a run: google-benchmark's comparison also counts repetitions
//! as samples. Its wall-clock time is the benchmark itself; CPU time, rates and counters are
//! measures. Aggregates are read only without repetitions (`--benchmark_report_aggregates_only`):
//! the mean, otherwise the median, with the standard deviation. Complexity fits are skipped.
//! `/threads:4` in a name means four tasks.
//!
//! Samples: google-benchmark 1.9.5, its Python package; `--benchmark_format=json
//! --benchmark_min_time=0.01s`: `counters.json` with an error, counters and a fit;
//! `repetitions.json` with `--benchmark_repetitions=3`; `aggregates.json` also with
//! `--benchmark_report_aggregates_only=true`; the host's name was made neutral.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit, missing, value};
use crate::json::{self, Number};
use crate::recognition::FormatMatch;
use crate::text::{self, quoted};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;
use faultline_record::time::UnixMillis;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "google-benchmark",
    description: "google-benchmark's JSON (--benchmark_format=json)",
    reads: "a run per repetition: real_time as the benchmark; cpu_time, rates, counters as measures; /threads:4 as tasks; without repetitions the mean, otherwise the median",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["context", "benchmarks", "time_unit"])),
    content: Content::Values { read: Read::File(read), write: None },
};

const AGGREGATE: &str = "aggregate";
const MEAN: &str = "mean";
const MEDIAN: &str = "median";
const DEVIATION: &str = "stddev";
const CPU_TIME: &str = "cpu_time";
/// Rates that the library computes, with their units.
const RATES: [(&str, &str); 2] = [("items_per_second", "items/s"), ("bytes_per_second", "B/s")];
/// Numbers of an entry that are not measured.
const NOT_MEASURED: [&str; 5] =
    ["family_index", "iterations", "per_family_instance_index", "repetition_index", "threads"];

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    context: Context,
    benchmarks: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    date: Option<String>,
    host_name: Option<String>,
    num_cpus: Option<i64>,
    library_version: Option<String>,
    library_build_type: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    #[serde(default)]
    run_type: String,
    #[serde(default)]
    aggregate_name: String,
    repetitions: Option<u32>,
    real_time: Option<Number>,
    cpu_time: Option<Number>,
    #[serde(default)]
    time_unit: String,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    skip_message: String,
    /// Rates and counters; also texts such as the label.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl Entry {
    /// The name shared by repetitions and aggregates.
    fn run_name(&self) -> &str {
        self.run_name.as_deref().unwrap_or(&self.name)
    }

    /// The reason for a missing figure.
    fn failure(&self) -> Option<String> {
        let words = |message: &str, otherwise: &str| if message.is_empty() { otherwise } else { message }.to_owned();
        match (self.error_occurred, self.skipped) {
            (true, _) => Some(words(&self.error_message, "failed")),
            (false, true) => Some(words(&self.skip_message, "skipped")),
            (false, false) => None,
        }
    }

    /// The figures: measure (`None`: the benchmark itself), unit and number.
    fn figures(&self) -> Vec<(Option<&str>, &str, f64)> {
        let times = [(None, self.real_time), (Some(CPU_TIME), self.cpu_time)];
        let times = times.into_iter().filter_map(|(measure, time)| Some((measure, self.time_unit.as_str(), time?.0)));
        let others = self.others.iter().filter(|(name, _)| !NOT_MEASURED.contains(&name.as_str()));
        let others = others.filter_map(|(name, value)| {
            let unit = RATES.iter().find(|(rate, _)| rate == name).map_or("", |(_, unit)| unit);
            Some((Some(name.as_str()), unit, Number::deserialize(value).ok()?.0))
        });
        times.chain(others).collect()
    }
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let Report { context, benchmarks } = json::parse_with_nan(file, "google-benchmark's JSON")?;
    let time = context.date.as_deref().and_then(text::parse_time);
    let repeated: HashSet<&str> =
        benchmarks.iter().filter(|entry| entry.run_type != AGGREGATE).map(Entry::run_name).collect();
    let aggregates = aggregates(&benchmarks);
    let mut gather = Gather::default();
    for entry in &benchmarks {
        if entry.run_type != AGGREGATE {
            read_run(&mut gather, file, entry, time)?;
        } else if !repeated.contains(entry.run_name()) && is_level(entry, &aggregates) {
            read_aggregate(&mut gather, file, entry, &aggregates, time)?;
        }
    }
    let mut dataset = gather.dataset(file.name, "`benchmarks` with their times")?;
    dataset.facts = facts(&context);
    Ok(dataset)
}

/// Aggregates by benchmark and aggregate name.
type Aggregates<'a> = HashMap<(&'a str, &'a str), &'a Entry>;

fn aggregates(entries: &[Entry]) -> Aggregates<'_> {
    let aggregates = entries.iter().filter(|entry| entry.run_type == AGGREGATE);
    aggregates.map(|entry| ((entry.run_name(), entry.aggregate_name.as_str()), entry)).collect()
}

/// True for the aggregate that represents the repetitions: the mean, otherwise the median.
fn is_level(entry: &Entry, aggregates: &Aggregates<'_>) -> bool {
    match entry.aggregate_name.as_str() {
        MEAN => true,
        MEDIAN => !aggregates.contains_key(&(entry.run_name(), MEAN)),
        _ => false,
    }
}

fn read_run(gather: &mut Gather, file: File<'_>, entry: &Entry, time: Option<UnixMillis>) -> Result<(), ReadError> {
    if let Some(why) = entry.failure() {
        let (name, tasks) = name_and_tasks(entry.run_name());
        let series = gather.series(&name, tasks, None, "");
        // A failed repetition has the default unit; the first successful one sets the unit.
        series.direction = Some(Direction::Lower);
        series.points.push(DataPoint { time, ..missing(why) });
        return Ok(());
    }
    let figures = entry.figures();
    if !figures.iter().any(|(measure, ..)| measure.is_none()) {
        let found = format!("the benchmark {} without `real_time`", quoted(&entry.name));
        return Err(ReadError::new(file.name, None, found, "`real_time` of each benchmark that ran"));
    }
    for (measure, unit, figure) in figures {
        let point = if figure.is_finite() { value(figure) } else { missing("not a finite number") };
        push(gather, file, entry, (measure, unit), DataPoint { time, ..point })?;
    }
    Ok(())
}

fn read_aggregate(
    gather: &mut Gather,
    file: File<'_>,
    entry: &Entry,
    aggregates: &Aggregates<'_>,
    time: Option<UnixMillis>,
) -> Result<(), ReadError> {
    let spread = aggregates.get(&(entry.run_name(), DEVIATION)).map(|spread| spread.figures()).unwrap_or_default();
    for (measure, unit, figure) in entry.figures().into_iter().filter(|(.., figure)| figure.is_finite()) {
        let deviation = spread.iter().find(|(of, ..)| *of == measure).map(|(.., deviation)| *deviation);
        let deviation = deviation.filter(|deviation| deviation.is_finite());
        let summed = Summed { value: figure, low: None, high: None, deviation, n: entry.repetitions };
        let point = DataPoint { time, ..DataPoint::of(Measured::Summary(summed)) };
        push(gather, file, entry, (measure, unit), point)?;
    }
    Ok(())
}

/// Adds a point to the series of a measure with its unit.
fn push(
    gather: &mut Gather,
    file: File<'_>,
    entry: &Entry,
    (measure, unit): (Option<&str>, &str),
    point: DataPoint,
) -> Result<(), ReadError> {
    let (name, tasks) = name_and_tasks(entry.run_name());
    let series = gather.series(&name, tasks, measure, unit);
    agree_on_unit(series, unit, file.name, None)?;
    series.points.push(point);
    Ok(())
}

/// Splits `sort/1024/threads:4/real_time` into `sort/1024/real_time` and four tasks.
fn name_and_tasks(name: &str) -> (String, Option<u32>) {
    let threads = |part: &&str| part.strip_prefix("threads:").and_then(|digits| digits.parse().ok());
    let tasks = name.split('/').find_map(|part| threads(&part));
    let others: Vec<&str> = name.split('/').filter(|part| threads(part).is_none()).collect();
    (others.join("/"), tasks)
}

fn facts(context: &Context) -> Facts {
    let mut facts = Facts::default();
    let texts = [
        ("host.name", &context.host_name),
        ("google_benchmark.version", &context.library_version),
        ("google_benchmark.build", &context.library_build_type),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            facts.text(key, text);
        }
    }
    if let Some(cpus) = context.num_cpus {
        facts.count("cpu.logical", cpus);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(benchmarks: &str) -> Result<Dataset, ReadError> {
        let text = format!(r#"{{"context": {{}}, "benchmarks": [{benchmarks}]}}"#);
        super::read(File { name: "given", text: &text })
    }

    #[test]
    fn threads_are_tasks() {
        assert_eq!(name_and_tasks("a/8/threads:4/real_time"), ("a/8/real_time".to_owned(), Some(4)));
        assert_eq!(name_and_tasks("a/8"), ("a/8".to_owned(), None));
    }

    #[test]
    fn aggregates_stand_for_repetitions_that_were_not_written() {
        let aggregate = |name: &str, time: f64| {
            format!(
                r#"{{"name": "a_{name}", "run_name": "a", "run_type": "aggregate", "aggregate_name": "{name}", "repetitions": 3,
                "real_time": {time}, "cpu_time": 1, "time_unit": "ms"}}"#
            )
        };
        let alone = [aggregate("mean", 5.0), aggregate("median", 4.0), aggregate("stddev", 0.5)].join(",");
        let dataset = read(&alone).unwrap();
        let summed = Summed { value: 5.0, low: None, high: None, deviation: Some(0.5), n: Some(3) };
        assert_eq!(dataset.series[0].points.len(), 1);
        assert_eq!(dataset.series[0].points[0].measured, Measured::Summary(summed));
        let run = r#"{"name": "a", "run_name": "a", "run_type": "iteration", "real_time": 7, "time_unit": "ms"}"#;
        let both = read(&format!("{run}, {alone}")).unwrap();
        assert_eq!(both.series.len(), 1);
        assert_eq!(both.series[0].points[0].measured, Measured::Values(vec![7.0]));
    }

    #[test]
    fn a_failed_repetition_leaves_the_unit_to_the_others() {
        let failed =
            r#"{"name": "a", "error_occurred": true, "error_message": "no", "real_time": 0, "time_unit": "ns"}"#;
        let dataset = read(&format!(r#"{failed}, {{"name": "a", "real_time": 7, "time_unit": "ms"}}"#)).unwrap();
        assert_eq!(dataset.series[0].points[0].measured, Measured::Missing("no".to_owned()));
        assert_eq!((dataset.series[0].points.len(), dataset.series[0].unit.as_str()), (2, "ms"));
        assert_eq!(read(failed).unwrap().series[0].direction, Some(Direction::Lower));
    }

    #[test]
    fn two_units_of_one_benchmark_are_refused() {
        let run = |unit: &str| format!(r#"{{"name": "a", "real_time": 7, "time_unit": "{unit}"}}"#);
        let error = read(&format!("{}, {}", run("ms"), run("ns"))).unwrap_err().to_string();
        assert_eq!(error, "given: found the unit 'ns', expected 'ms', the unit of the earlier values of 'a'");
    }

    #[test]
    fn what_is_not_a_number_is_no_value() {
        let dataset =
            read(r#"{"name": "a", "real_time": -NaN, "cpu_time": 1, "time_unit": "ns", "label": "x"}"#).unwrap();
        assert_eq!(dataset.series.len(), 2);
        assert_eq!(dataset.series[0].points[0].measured, Measured::Missing("not a finite number".to_owned()));
    }
}
