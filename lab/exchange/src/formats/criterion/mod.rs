//! criterion's directory: `BENCHMARK/new/{benchmark,sample,estimates}.json` in nanoseconds; or one
//! of its files (`lone`).
//!
//! A sample is the time of many iterations, a value the time of one of them. All samples come from
//! one process, so they are values of one run. Without samples the estimate is read: the slope,
//! otherwise the mean. Written samples have one iteration each. Written estimates have the standard
//! errors of large samples from a normal distribution, and intervals of ±1.96 standard errors.
//!
//! Samples: criterion 0.8.2, Rust 1.95; `cargo bench`; of `target/criterion` the directories `new`,
//! without `tukey.json`.

mod lone;

use crate::error::{ReadError, WriteError};
use crate::files::{File, Files};
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::Gather;
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::{json, values};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "criterion",
    description: "criterion's directory (target/criterion), or one of its sample.json, estimates.json, raw.csv",
    reads: "the time of one iteration of each sample, as values of one run; otherwise the estimate",
    writes: "samples of one iteration, estimates; only benchmarks in ns, of the last commit; not facts, boots, order, runs without a value",
    is_directory: true,
    recognise: |glance| {
        FormatMatch::Layout.when(fits(glance.files)).or_else(|| FormatMatch::Mark.when(lone::fits(glance)))
    },
    content: Content::Values { read: Read::Files(read), write: Some(write) },
};

const UNIT: &str = "ns";
const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";
/// Quantile of the standard normal distribution for a 95 % interval.
const NORMAL_95: f64 = 1.96;

#[derive(Serialize, Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<()>,
    full_id: String,
    directory_name: String,
    title: String,
}

/// The files of a benchmark that are read.
#[derive(Deserialize)]
struct Named {
    full_id: String,
}

#[derive(Serialize, Deserialize)]
struct Sample {
    #[serde(default)]
    sampling_mode: String,
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Estimates {
    mean: Estimate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    median: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    median_abs_dev: Option<Estimate>,
    #[serde(default)]
    slope: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    std_dev: Option<Estimate>,
}

#[derive(Serialize, Deserialize)]
struct Estimate {
    confidence_interval: Interval,
    point_estimate: f64,
    standard_error: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Interval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// The benchmark directory of a file, with a final `/` unless it is the root.
fn directory(path: &str) -> Option<&str> {
    [BENCHMARK, SAMPLE, ESTIMATES].iter().find_map(|name| {
        let directory = path.strip_suffix(name)?;
        (directory == "new/" || directory.ends_with("/new/")).then_some(directory)
    })
}

fn fits(files: &Files) -> bool {
    files.is_directory() && files.paths().any(|path| directory(path).is_some())
}

fn read(files: &Files) -> Result<Dataset, ReadError> {
    if !files.is_directory() {
        return lone::read(files.only(FORMAT.name)?);
    }
    let directories: BTreeSet<&str> = files.paths().filter_map(directory).collect();
    let mut gather = Gather::default();
    for directory in directories {
        let file = |name: &str| files.file(&format!("{directory}{name}"));
        let Some(measured) = measured(file(SAMPLE)?, file(ESTIMATES)?)? else {
            continue;
        };
        let name = match file(BENCHMARK)? {
            Some(file) => json::parse::<Named>(file, "criterion's benchmark.json")?.full_id,
            None => directory.trim_end_matches("new/").trim_end_matches('/').to_owned(),
        };
        let series = gather.series(&name, None, None, UNIT);
        series.direction = Some(Direction::Lower);
        series.points.push(DataPoint::of(measured));
    }
    gather.dataset(files.given(), "criterion's `BENCHMARK/new/sample.json` or `estimates.json`")
}

fn measured(sample: Option<File<'_>>, estimates: Option<File<'_>>) -> Result<Option<Measured>, ReadError> {
    if let Some(file) = sample {
        let values = iteration_times(json::parse(file, "criterion's sample.json")?, file.name)?;
        if !values.is_empty() {
            return Ok(Some(Measured::Values(values)));
        }
    }
    estimates.map(estimated).transpose()
}

/// The estimate of a file: the slope, otherwise the mean.
fn estimated(file: File<'_>) -> Result<Measured, ReadError> {
    let estimates: Estimates = json::parse(file, "criterion's estimates.json")?;
    let deviation = estimates.std_dev.map(|estimate| estimate.point_estimate);
    let Estimate { confidence_interval: interval, point_estimate: value, .. } =
        estimates.slope.unwrap_or(estimates.mean);
    let (low, high) = (Some(interval.lower_bound), Some(interval.upper_bound));
    Ok(Measured::Summary(Summed { value, low, high, deviation, n: None }))
}

/// Times per iteration. `file` goes into the message.
fn iteration_times(Sample { iters, times, .. }: Sample, file: &str) -> Result<Vec<f64>, ReadError> {
    if iters.len() != times.len() {
        let found = format!("{} counts of iterations and {} times", iters.len(), times.len());
        return Err(ReadError::new(file, None, found, "as many of both"));
    }
    let values: Vec<f64> = times.iter().zip(iters).map(|(time, iterations)| time / iterations).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => {
            let found = format!("sample {} of no iterations", at + 1);
            Err(ReadError::new(file, None, found, "at least one iteration in each"))
        }
        None => Ok(values),
    }
}

/// A unique path for each name: its parts, reduced to what file systems accept, never leading
/// upwards.
fn paths(series: &[Series]) -> Vec<String> {
    let mut taken: HashMap<String, u32> = HashMap::new();
    let mut paths = Vec::with_capacity(series.len());
    for series in series {
        let mut path = path(&series.name);
        // The numbered path may already be taken.
        while let Some(times) = taken.get_mut(&path.to_lowercase()) {
            *times += 1;
            path = format!("{path}_{times}");
        }
        taken.insert(path.to_lowercase(), 1);
        paths.push(path);
    }
    paths
}

fn path(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " _-=,()+%#@×".contains(c);
    let part = |part: &str| part.chars().map(|c| if allowed(c) { c } else { '_' }).take(40).collect::<String>();
    let parts: Vec<String> = name.split('/').map(part).filter(|part| !part.trim().is_empty()).take(4).collect();
    match parts.join("/").trim() {
        "" => "unnamed".to_owned(),
        // This name would look like the results directory.
        path => path.split('/').map(|part| if part == "new" { "new_" } else { part }).collect::<Vec<_>>().join("/"),
    }
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let mut located = Vec::new();
    let reduced = whole
        .no_facts()
        .only(|series| series.unit == UNIT, "benchmarks that are not in nanoseconds")
        .no_missing()
        .no_empty()
        .last_commit()
        .no_commits()
        .no_times()
        .no_boots()
        .no_order()
        .merged(|_| (), "which values were of one run")
        .summaries(|summed| summed.low.is_some() && summed.high.is_some())
        .summed(|summed| Summed { n: None, ..summed }, "numbers of values that were summed up")
        .fold_tasks()
        .fold_measures(' ')
        .directions(|_| Some(Direction::Lower))
        .arranged(|dataset| {
            let mut placed: Vec<_> = paths(&dataset.series).into_iter().zip(dataset.series.drain(..)).collect();
            // Sorts like the file paths, which end in `/new/…`.
            placed.sort_by_cached_key(|(path, _)| format!("{path}/new/"));
            (located, dataset.series) = placed.into_iter().unzip();
        })
        .ready(FORMAT.name)?;
    let mut files = BTreeMap::new();
    for (path, series) in located.iter().zip(&reduced.dataset.series) {
        files.extend(benchmark(path, series));
    }
    Ok(Written { files: files.into_iter().collect(), held: reduced.dataset, losses: reduced.losses })
}

fn benchmark(path: &str, series: &Series) -> Vec<(String, String)> {
    let at = |name: &str| format!("{path}/new/{name}");
    let name = series.name.clone();
    let benchmark = Benchmark {
        group_id: name.clone(),
        function_id: None,
        value_str: None,
        throughput: None,
        full_id: name.clone(),
        directory_name: path.to_owned(),
        title: name,
    };
    let mut files = vec![(at(BENCHMARK), json::text(&benchmark))];
    match series.points.first().map(|point| &point.measured) {
        Some(Measured::Values(values)) => {
            let iters = vec![1.0; values.len()];
            let sample = Sample { sampling_mode: "Flat".to_owned(), iters, times: values.clone() };
            files.push((at(SAMPLE), json::text(&sample)));
            files.push((at(ESTIMATES), json::text(&estimates_of(values))));
        }
        Some(Measured::Summary(summed)) => files.push((at(ESTIMATES), json::text(&estimates(summed)))),
        _ => {}
    }
    files
}

fn estimates(summed: &Summed) -> Estimates {
    let mean = Estimate {
        confidence_interval: Interval {
            confidence_level: 0.95,
            lower_bound: summed.low.unwrap_or(summed.value),
            upper_bound: summed.high.unwrap_or(summed.value),
        },
        point_estimate: summed.value,
        standard_error: None,
    };
    let std_dev = summed.deviation.map(|deviation| estimate(deviation, None));
    Estimates { mean, median: None, median_abs_dev: None, slope: None, std_dev }
}

fn estimates_of(values: &[f64]) -> Estimates {
    let n = values.len() as f64;
    let median = values::median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let deviation = values::deviation(values);
    // Asymptotic standard errors for a normal distribution, in units of σ/√n: 1 of the mean, √(π/2)
    // of the median, 1.1664 of the scaled median absolute deviation, 1/√2 of the standard
    // deviation.
    let error = |factor: f64| deviation.map(|deviation| factor * deviation / n.sqrt());
    Estimates {
        mean: estimate(values::mean(values), error(1.0)),
        median: Some(estimate(median, error((std::f64::consts::PI / 2.0).sqrt()))),
        median_abs_dev: Some(estimate(1.4826 * values::median(&distances), error(1.1664))),
        slope: None,
        std_dev: Some(estimate(deviation.unwrap_or(0.0), error(0.5f64.sqrt()))),
    }
}

fn estimate(value: f64, error: Option<f64>) -> Estimate {
    let reach = NORMAL_95 * error.unwrap_or(0.0);
    Estimate {
        confidence_interval: Interval {
            confidence_level: 0.95,
            lower_bound: value - reach,
            upper_bound: value + reach,
        },
        point_estimate: value,
        standard_error: error,
    }
}
