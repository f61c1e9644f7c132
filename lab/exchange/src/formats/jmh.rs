//! JMH's JSON (`-rf json`): an array with an entry per benchmark, mode and combination of
//! parameters.
//!
//! Each fork is a separate virtual machine, so it is a run; iterations are its values. In mode
//! `sample` an iteration is a histogram of calls, and its mean is read, because the score is a mean
//! too. Without raw data the score is read with its interval. The mode names the measure; secondary
//! metrics follow it, as in `sample p0.99`. A secondary metric has the score's direction if it has
//! the same unit, otherwise none. It may be text, such as the stack profiler's. Threads are tasks.
//!
//! Samples: JMH 1.37, Java 17; `modes.json`: `-f 2 -wi 1 -i 2 -w 20ms -r 20ms -t 2 -prof gc -bm
//! thrpt,avgt,ss -rf json`; `sample.json`: `-f 2 -wi 1 -i 2 -w 5ms -r 5ms -p n=1000 -bm sample -rf
//! json`; the path of `java` was made neutral.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, agree_on_unit, missing};
use crate::json::{self, Members, Number};
use crate::recognition::FormatMatch;
use crate::text::quoted;
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::facts::Facts;
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "jmh",
    description: "JMH's JSON (-rf json)",
    reads: "a run per fork with iterations as values; the mode as measure, secondary metrics as `MODE NAME`; parameters as name (p=v); threads as tasks",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["benchmark", "primaryMetric"])),
    content: Content::Values { read: Read::File(read), write: None },
};

/// Fact keys of the virtual machine.
const JDK: &str = "jmh.jdk";
const VM: &str = "jmh.vm";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    benchmark: String,
    mode: String,
    threads: Option<u32>,
    forks: Option<u32>,
    measurement_iterations: Option<u32>,
    jdk_version: Option<String>,
    vm_name: Option<String>,
    #[serde(default)]
    params: Members<String>,
    primary_metric: Metric,
    #[serde(default)]
    secondary_metrics: Members<Metric>,
}

/// Values by fork and iteration.
type ByFork<T> = Vec<Vec<T>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score: Number,
    #[serde(default)]
    score_confidence: Vec<Number>,
    score_unit: String,
    raw_data: Option<ByFork<Number>>,
    /// Per iteration, values with their counts.
    raw_data_histogram: Option<ByFork<Vec<(f64, f64)>>>,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let entries: Vec<Entry> = json::parse_with_nan(file, "JMH's JSON")?;
    let mut gather = Gather::default();
    for entry in &entries {
        let primary = &entry.primary_metric;
        let found = runs(primary, entry).ok_or_else(|| {
            let found = format!("no finite number as `score` or in `rawData` of {}", quoted(&entry.benchmark));
            ReadError::new(file.name, None, found, "finite numbers")
        })?;
        push(&mut gather, file, entry, (&entry.mode, primary), found)?;
        for (label, metric) in &entry.secondary_metrics.0 {
            // Older versions begin the names of profilers' metrics with a middle dot.
            let measure = format!("{} {}", entry.mode, label.trim_start_matches('·'));
            let found = runs(metric, entry).unwrap_or_else(|| vec![missing("not a finite number").measured]);
            push(&mut gather, file, entry, (&measure, metric), found)?;
        }
    }
    let mut dataset = gather.dataset(file.name, "an array of benchmarks with their `primaryMetric`")?;
    dataset.facts = facts(&entries);
    Ok(dataset)
}

/// Adds runs to the series of a metric.
fn push(
    gather: &mut Gather,
    file: File<'_>,
    entry: &Entry,
    (measure, metric): (&str, &Metric),
    runs: Vec<Measured>,
) -> Result<(), ReadError> {
    let unit = metric.score_unit.as_str();
    let series = gather.series(&name(entry), entry.threads, Some(measure), unit);
    agree_on_unit(series, unit, file.name, None)?;
    series.direction = values::direction_of_unit(unit).filter(|_| unit == entry.primary_metric.score_unit);
    series.points.extend(runs.into_iter().map(DataPoint::of));
    Ok(())
}

/// A run per fork, or the score without raw data. `None` if a number is not finite.
fn runs(metric: &Metric, entry: &Entry) -> Option<Vec<Measured>> {
    let by_fork: ByFork<f64> = match (&metric.raw_data, &metric.raw_data_histogram) {
        (Some(forks), _) => {
            let finite = |fork: &Vec<Number>| fork.iter().copied().map(Number::finite).collect();
            forks.iter().map(finite).collect::<Option<_>>()?
        }
        (None, Some(forks)) => {
            let means = |fork: &Vec<Vec<(f64, f64)>>| fork.iter().map(|iteration| mean(iteration)).collect();
            forks.iter().map(means).collect::<Option<_>>()?
        }
        (None, None) => Vec::new(),
    };
    let runs: Vec<_> = by_fork.into_iter().filter(|values| !values.is_empty()).map(Measured::Values).collect();
    if !runs.is_empty() {
        return Some(runs);
    }
    let bound = |place: usize| metric.score_confidence.get(place).copied().and_then(Number::finite);
    let n = entry.measurement_iterations.and_then(|n| n.checked_mul(entry.forks.unwrap_or(1).max(1)));
    let value = metric.score.finite()?;
    Some(vec![Measured::Summary(Summed { value, low: bound(0), high: bound(1), deviation: None, n })])
}

/// The mean of a histogram; `None` if it is empty.
fn mean(histogram: &[(f64, f64)]) -> Option<f64> {
    let count: f64 = histogram.iter().map(|(_, count)| count).sum();
    let sum: f64 = histogram.iter().map(|(value, count)| value * count).sum();
    Some(sum / count).filter(|mean| mean.is_finite())
}

/// The benchmark with its parameters: `org.example.Sums.sum (n=10)`.
fn name(entry: &Entry) -> String {
    if entry.params.0.is_empty() {
        return entry.benchmark.clone();
    }
    let parameters: Vec<_> = entry.params.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} ({})", entry.benchmark, parameters.join(", "))
}

/// The Java version and virtual machine, if all entries agree.
fn facts(entries: &[Entry]) -> Facts {
    let mut facts = Facts::default();
    let of_all = |of: fn(&Entry) -> Option<&String>| {
        let first = of(entries.first()?)?;
        entries.iter().all(|entry| of(entry) == Some(first)).then(|| first.clone())
    };
    let found: [(&str, Option<String>); 2] =
        [(JDK, of_all(|entry| entry.jdk_version.as_ref())), (VM, of_all(|entry| entry.vm_name.as_ref()))];
    for (key, text) in found {
        if let Some(text) = text {
            facts.text(key, text);
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(metric: &str) -> Result<Dataset, ReadError> {
        let text = format!(
            r#"[{{"benchmark": "a.B.c", "mode": "sample", "threads": 2, "forks": 2, "measurementIterations": 3,
                "primaryMetric": {{"score": 5.0, "scoreConfidence": [4.0, "NaN"], "scoreUnit": "us/op" {metric}}}}}]"#
        );
        super::read(File { name: "given", text: &text })
    }

    #[test]
    fn a_histogram_of_an_iteration_is_its_mean() {
        let dataset = read(r#", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]], [[4.0, 2]]], [[[7.0, 1]]]]"#).unwrap();
        assert_eq!(dataset.series[0].to_string(), "a.B.c sample×2");
        let runs: Vec<_> = dataset.series[0].points.iter().map(|point| point.measured.values()).collect();
        assert_eq!(runs, [&[2.0, 4.0][..], &[7.0]]);
        let error = read(r#", "rawDataHistogram": [[[]]]"#).unwrap_err().to_string();
        assert_eq!(
            error,
            "given: found no finite number as `score` or in `rawData` of 'a.B.c', expected finite numbers"
        );
    }

    #[test]
    fn a_secondary_metric_may_be_no_number() {
        let text = r#"[{"benchmark": "a.B.c", "mode": "avgt", "primaryMetric": {"score": 5.0, "scoreUnit": "us/op"},
            "secondaryMetrics": {"·stack": {"score": "NaN", "scoreUnit": "---", "rawData": [["NaN"]]}}}]"#;
        let dataset = super::read(File { name: "given", text }).unwrap();
        assert_eq!(dataset.series[1].to_string(), "a.B.c avgt stack");
        assert_eq!(dataset.series[1].points[0].measured, Measured::Missing("not a finite number".to_owned()));
    }

    #[test]
    fn a_score_without_iterations_sums_them_up() {
        let summed = Summed { value: 5.0, low: Some(4.0), high: None, deviation: None, n: Some(6) };
        assert_eq!(read("").unwrap().series[0].points[0].measured, Measured::Summary(summed));
    }
}
