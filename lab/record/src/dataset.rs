//! Benchmark values with their places in time and history: the contents of other tools' files, and
//! of our own runs after conversion.
//!
//! `exchange` reads and writes formats. `stats` compares datasets and finds steps.

use crate::direction::Direction;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Several benchmarks. `format` is [`Dataset::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dataset {
    /// Name and version of this structure.
    pub format: String,
    /// Facts about the machine that was measured; other programs may leave them out.
    #[serde(default)]
    pub facts: Facts,
    /// The benchmarks, in the order of the source; no two have the same name, tasks and measure.
    pub series: Vec<Series>,
}

impl Dataset {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-dataset/1";

    /// A dataset with these benchmarks, from an unknown machine.
    pub fn of(series: Vec<Series>) -> Self {
        Dataset { format: Self::FORMAT.to_owned(), facts: Facts::default(), series }
    }
}

/// One measure of one benchmark, over runs and perhaps over history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The benchmark's name, including its parameters.
    pub name: String,
    /// Number of concurrent tasks, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// The measured quantity, if a benchmark has several: `latency`, `B/op`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Unit of the values; empty if it is not known.
    pub unit: String,
    /// Better direction; `None` if it is not known.
    pub direction: Option<Direction>,
    /// Runs, in the order of the source.
    pub points: Vec<DataPoint>,
}

/// Name, measure and number of tasks, as far as they are known: `zero_fill:base×2`.
impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(measure) = &self.measure {
            write!(f, " {measure}")?;
        }
        match self.tasks {
            Some(tasks) => write!(f, "×{tasks}"),
            None => Ok(()),
        }
    }
}

/// One run of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataPoint {
    /// The commit that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// That commit's time, or the time of measurement if only that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<UnixMillis>,
    /// Identifies the boot of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Place in the order of the runs; the numbers increase with time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// The result of the run.
    pub measured: Measured,
}

impl DataPoint {
    /// A run with only values.
    pub fn of(measured: Measured) -> Self {
        DataPoint { commit: None, time: None, boot: None, order: None, measured }
    }
}

/// The result of one run of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Single values, at least one.
    Values(Vec<f64>),
    /// A figure that summarises the values, which are not known.
    Summary(Summed),
    /// No value, and the reason in another tool's words: the run failed, or was left out.
    Missing(String),
    /// One of our own executions, without a value.
    Failed(Failure),
}

/// A figure computed from several values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summed {
    /// The figure.
    pub value: f64,
    /// Lower end of the figure's interval, as the source defines it.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Standard deviation of the values.
    pub deviation: Option<f64>,
    /// Number of values.
    pub n: Option<u32>,
}

impl Measured {
    /// The values, or the figure that summarises them; empty for a run without any.
    pub fn values(&self) -> &[f64] {
        match self {
            Measured::Values(values) => values,
            Measured::Summary(summed) => std::slice::from_ref(&summed.value),
            Measured::Missing(_) | Measured::Failed(_) => &[],
        }
    }
}

/// A step found by another tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedChange {
    /// The benchmark's name.
    pub name: String,
    /// The measured quantity, if a benchmark has several.
    pub measure: Option<String>,
    /// Position of the first run with the new level, from 0.
    pub position: u64,
    /// That run's commit.
    pub commit: Option<String>,
    /// That run's time.
    pub time: Option<UnixMillis>,
    /// Mean before the step.
    pub before: Option<f64>,
    /// Mean after the step.
    pub after: Option<f64>,
    /// Standard deviation before the step.
    pub deviation_before: Option<f64>,
    /// Standard deviation after the step.
    pub deviation_after: Option<f64>,
    /// The tool's p-value, as the tool defines it.
    pub p: Option<f64>,
}

/// Imported figures of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedLine {
    /// The name under which the figures are saved.
    pub name: String,
    /// Name of the imported format.
    pub source: String,
    /// Time of the import.
    pub imported: UnixMillis,
    /// Number of benchmarks.
    pub series: u32,
    /// Number of runs of all benchmarks.
    pub points: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_named_by_all_that_is_known() {
        let mut series = Series {
            name: "zero_fill:base".to_owned(),
            tasks: None,
            measure: None,
            unit: "fault/s".to_owned(),
            direction: Some(Direction::Higher),
            points: vec![],
        };
        assert_eq!(series.to_string(), "zero_fill:base");
        series.tasks = Some(2);
        series.measure = Some("rate".to_owned());
        assert_eq!(series.to_string(), "zero_fill:base rate×2");
    }

    #[test]
    fn a_run_without_values_has_none() {
        let summed = Summed { value: 3.0, low: None, high: None, deviation: None, n: Some(5) };
        assert_eq!(Measured::Values(vec![1.0, 2.0]).values(), [1.0, 2.0]);
        assert_eq!(Measured::Summary(summed).values(), [3.0]);
        assert!(Measured::Missing("hung".to_owned()).values().is_empty());
    }
}
