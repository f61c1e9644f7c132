//! Bencher metric format: `{benchmark: {measure: {value, lower_value?, upper_value?}}}`.
//!
//! Only Bencher's built-in measures have known units and directions. The format holds one figure
//! per measure: several values are written as their median with minimum and maximum, and a history
//! as its last commit.
//!
//! Samples: by hand: the figures of the example in Bencher's documentation of the format.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::gather::Gather;
use crate::json::{self, Members};
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use crate::text::with_only;
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "bencher",
    description: "Bencher metric format (BMF), JSON",
    reads: "value and bounds of each measure",
    writes: "the median with minimum and maximum of the last commit; not facts, history, single values, deviations, other units, runs without a value",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.json_has(&["value"]) && glance.first_of_json() == Some(b'{')),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

/// Slug, name, unit and direction of built-in measures.
const BUILT_IN: [(&str, &str, &str, Direction); 7] = [
    ("latency", "Latency", "ns", Direction::Lower),
    ("throughput", "Throughput", "ops/s", Direction::Higher),
    ("build-time", "Build Time", "s", Direction::Lower),
    ("file-size", "File Size", "B", Direction::Lower),
    ("instructions", "Instructions", "instructions", Direction::Lower),
    ("estimated-cycles", "Estimated Cycles", "cycles", Direction::Lower),
    ("allocated", "Allocated", "B", Direction::Lower),
];

#[derive(Serialize, Deserialize)]
struct Metric {
    value: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

type Benchmarks = Members<Members<Metric>>;

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let benchmarks: Benchmarks = json::parse(file, "Bencher metric format")?;
    let mut gather = Gather::default();
    for (name, measures) in benchmarks.0 {
        for (measure, metric) in measures.0 {
            let series = gather.series(&name, None, Some(&measure), "");
            (series.unit, series.direction) = unit_and_direction(&measure);
            series.points.push(DataPoint::of(measured(&metric)));
        }
    }
    gather.dataset(file.name, "benchmarks with a measure")
}

fn measured(metric: &Metric) -> Measured {
    match (metric.lower_value, metric.upper_value) {
        (None, None) => Measured::Values(vec![metric.value]),
        (low, high) => Measured::Summary(Summed { value: metric.value, low, high, deviation: None, n: None }),
    }
}

fn unit_and_direction(measure: &str) -> (String, Option<Direction>) {
    BUILT_IN
        .iter()
        .find(|(slug, name, ..)| measure == *slug || measure == *name)
        .map_or((String::new(), None), |(_, _, unit, direction)| ((*unit).to_owned(), Some(*direction)))
}

/// A measure's name, or one derived from the unit.
fn measure(series: &Series) -> Option<String> {
    let by_unit = || match series.unit.as_str() {
        "" => "value",
        "ns" => "latency",
        "ops/s" => "throughput",
        unit => unit,
    };
    let measure = series.measure.as_deref().filter(|measure| !measure.is_empty());
    Some(measure.unwrap_or_else(by_unit).chars().take(64).collect())
}

/// Summarises several values as one figure.
fn figure(measured: &Measured) -> Option<Measured> {
    let Measured::Values(values) = measured else {
        return None;
    };
    if values.len() == 1 {
        return None;
    }
    let (low, high) = values::extremes(values);
    let value = values::median(values);
    Some(Measured::Summary(Summed { value, low, high, deviation: None, n: None }))
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .no_facts()
        .no_missing()
        .no_empty()
        .last_commit()
        .no_commits()
        .no_times()
        .no_boots()
        .no_order()
        .merged(|_| (), "all runs as one figure")
        .figures(figure, "single values: their median, least and greatest are kept")
        .summed(|summed| Summed { deviation: None, n: None, ..summed }, "deviations and numbers of values")
        .summaries(|summed| summed.low.is_some() || summed.high.is_some())
        .fold_tasks()
        .names(|name| with_only(name, |_| true, '_').chars().take(1024).collect())
        .measures(measure)
        .units(|series| unit_and_direction(series.measure.as_deref().unwrap_or_default()).0)
        .directions(|series| unit_and_direction(series.measure.as_deref().unwrap_or_default()).1)
        .arranged(|dataset| {
            let mut places = HashMap::new();
            for series in &dataset.series {
                let next = places.len();
                places.entry(series.name.clone()).or_insert(next);
            }
            dataset.series.sort_by_key(|series| places[&series.name]);
        })
        .ready(FORMAT.name)?;
    let benchmarks: Benchmarks = Members(
        reduced
            .dataset
            .series
            .chunk_by(|a, b| a.name == b.name)
            .map(|measures| (measures[0].name.clone(), Members(measures.iter().filter_map(metric).collect())))
            .collect(),
    );
    Ok(Written::file("bencher.json", json::text(&benchmarks), reduced))
}

fn metric(series: &Series) -> Option<(String, Metric)> {
    let metric = match series.points.first()?.measured {
        Measured::Summary(Summed { value, low, high, .. }) => Metric { value, lower_value: low, upper_value: high },
        ref single => Metric { value: *single.values().first()?, lower_value: None, upper_value: None },
    };
    Some((series.measure.clone()?, metric))
}
