//! Values of a dataset: means and medians, the better direction of a unit, and validity.

use crate::text::quoted;
use faultline_record::dataset::{Dataset, Measured, Series};
use faultline_record::direction::Direction;
use faultline_record::facts::FactValue;
use std::collections::HashSet;

/// The arithmetic mean. Divides each value first, because the sum of large values could overflow.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// The median; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        Some(upper) if sorted.len().is_multiple_of(2) => sorted[middle - 1].midpoint(*upper),
        Some(value) => *value,
        None => 0.0,
    }
}

/// The sample's standard deviation; `None` for a single value or on overflow.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() as f64 - 1.0)).sqrt()).filter(|deviation| deviation.is_finite())
}

/// The smallest and the greatest value.
pub(crate) fn extremes(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let values = values.iter().copied();
    (values.clone().reduce(f64::min), values.reduce(f64::max))
}

/// The better direction: lower for times and times per operation, higher for rates, unknown for
/// other units.
pub(crate) fn direction_of_unit(unit: &str) -> Option<Direction> {
    match unit.split_once('/') {
        None if is_time(unit) => Some(Direction::Lower),
        None => None,
        Some((per, each)) => match (is_time(per), is_time(each)) {
            (true, false) => Some(Direction::Lower),
            (false, true) => Some(Direction::Higher),
            _ => None,
        },
    }
}

/// True for units of time and of time per operation.
pub(crate) fn is_time_or_per_operation(unit: &str) -> bool {
    direction_of_unit(unit) == Some(Direction::Lower)
}

fn is_time(unit: &str) -> bool {
    matches!(
        unit,
        "s" | "sec"
            | "secs"
            | "second"
            | "seconds"
            | "ms"
            | "msec"
            | "milliseconds"
            | "us"
            | "µs"
            | "μs"
            | "usec"
            | "microseconds"
            | "ns"
            | "nsec"
            | "nanoseconds"
            | "min"
            | "minutes"
    )
}

/// The requirements in words, for messages.
pub(crate) const VALID: &str = "each benchmark once, with finite values, and times that are not below zero";

/// The first violation of the requirements, in words.
pub(crate) fn fault(dataset: &Dataset) -> Option<String> {
    if dataset.format != Dataset::FORMAT {
        return Some(format!("the format {}", quoted(&dataset.format)));
    }
    let mut seen = HashSet::new();
    dataset
        .series
        .iter()
        .find_map(|series| {
            let again = !seen.insert((&series.name, series.tasks, &series.measure));
            again.then(|| format!("two benchmarks '{series}'")).or_else(|| fault_of_points(series))
        })
        .or_else(|| fault_of_facts(dataset))
}

fn fault_of_points(series: &Series) -> Option<String> {
    series.points.iter().find_map(|point| match &point.measured {
        Measured::Values(values) if values.is_empty() => Some(format!("a run of '{series}' with no value")),
        Measured::Values(values) if values.iter().any(|value| !value.is_finite()) => not_finite(series),
        measured if is_time_or_per_operation(&series.unit) && measured.values().iter().any(|value| *value < 0.0) => {
            Some(format!("a time below zero of '{series}'"))
        }
        Measured::Summary(summed) => {
            let figures = [Some(summed.value), summed.low, summed.high, summed.deviation];
            figures.into_iter().flatten().any(|value| !value.is_finite()).then(|| not_finite(series)).flatten()
        }
        _ => None,
    })
}

fn fault_of_facts(dataset: &Dataset) -> Option<String> {
    dataset.facts.0.iter().find_map(|(key, value)| match value {
        FactValue::Real(value) if !value.is_finite() => Some(format!("a fact '{key}' that is not a finite number")),
        _ => None,
    })
}

fn not_finite(series: &Series) -> Option<String> {
    Some(format!("a value of '{series}' that is not a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_few_values() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[7.0])), (2.0, 2.5, 7.0));
        assert_eq!(deviation(&[1.0, 3.0]), Some(2f64.sqrt()));
        assert_eq!((deviation(&[1.0]), deviation(&[1e300, -1e300])), (None, None));
        assert_eq!(extremes(&[2.0, 1.0, 3.0]), (Some(1.0), Some(3.0)));
    }

    #[test]
    fn times_are_better_when_less_and_rates_when_more() {
        for unit in ["s", "seconds", "ns/op", "ms/request"] {
            assert_eq!(direction_of_unit(unit), Some(Direction::Lower), "{unit}");
        }
        for unit in ["fault/s", "bits/sec", "MB/s", "1/sec"] {
            assert_eq!(direction_of_unit(unit), Some(Direction::Higher), "{unit}");
        }
        for unit in ["", "B/op", "percent", "ns/s", "bytes"] {
            assert_eq!(direction_of_unit(unit), None, "{unit}");
        }
    }
}
