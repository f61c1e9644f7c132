//! What every dataset has to keep to, whoever made it.

use crate::direction;
use faultline_model::dataset::{Dataset, Measured, Series};
use faultline_model::facts::FactValue;
use std::collections::HashSet;

/// What is right, in words.
pub(crate) const EXPECTED: &str = "each benchmark once, with finite values, and times that are not below zero";

/// The first thing that is wrong, in words.
pub(crate) fn fault(dataset: &Dataset) -> Option<String> {
    if dataset.format != Dataset::FORMAT {
        return Some(format!("the format {}", crate::text::quoted(&dataset.format)));
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
        measured
            if direction::is_time_or_per_operation(&series.unit)
                && measured.values().iter().any(|value| *value < 0.0) =>
        {
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
