//! A comparison as CSV: one record per workload, raw numbers, shares and changes as ratios.

use super::change::Change;
use super::words;
use crate::grid;
use crate::run::words::one_line;
use faultline_model::comparison::{Comparison, Details};
use faultline_model::summary::Estimate;
use faultline_model::workload_comparison::{Bounded, Method, Side, Unit, WorkloadComparison};

/// Column names; medians, means, shifts and values are in the unit of the column `unit`. `change` is empty where the answer is `undecided`.
const HEADER: [&str; 51] = [
    "a",
    "b",
    "workload",
    "tasks",
    "unit",
    "direction",
    "answer",
    "change_ratio",
    "change_low_ratio",
    "change_high_ratio",
    "detectable_ratio",
    "independent",
    "method",
    "p",
    "p_corrected",
    "b_to_a_ratio",
    "b_to_a_low_ratio",
    "b_to_a_high_ratio",
    "b_to_a_level_ratio",
    "shift",
    "shift_low",
    "shift_high",
    "shift_level_ratio",
    "medians_b_to_a_ratio",
    "medians_b_to_a_low_ratio",
    "medians_b_to_a_high_ratio",
    "medians_b_to_a_level_ratio",
    "a_boots",
    "a_runs",
    "a_intervals",
    "a_units",
    "a_median",
    "a_mean",
    "b_boots",
    "b_runs",
    "b_intervals",
    "b_units",
    "b_median",
    "b_mean",
    "a_system_share_ratio",
    "a_system_share_low_ratio",
    "a_system_share_high_ratio",
    "b_system_share_ratio",
    "b_system_share_low_ratio",
    "b_system_share_high_ratio",
    "a_values",
    "b_values",
    "cautions",
    "a_failures",
    "b_failures",
    "failure_texts",
];

/// The comparison as CSV.
pub(super) fn csv(compared: &Comparison) -> String {
    grid::csv(HEADER, words::rows(compared).map(|(comparison, details)| record(compared, comparison, details)))
}

fn record(compared: &Comparison, comparison: &WorkloadComparison, details: Option<&Details>) -> [String; HEADER.len()] {
    let change = Change::of(comparison);
    let part = |part: fn(&Change) -> f64| number(change.as_ref().map(part));
    let mut cells = vec![
        compared.a.name.clone(),
        compared.b.name.clone(),
        comparison.name.clone(),
        details.and_then(|details| details.tasks).map(|tasks| tasks.to_string()).unwrap_or_default(),
        comparison.unit.clone(),
        comparison.direction.word().to_owned(),
        words::answer_word(comparison.answer).replace(' ', "-"),
        part(|change| change.value),
        part(|change| change.low),
        part(|change| change.high),
        number(comparison.detectable),
        independent(comparison.independent).to_owned(),
        method(comparison.method).to_owned(),
        number(comparison.p),
        number(comparison.p_corrected),
    ];
    for bounded in [comparison.ratio, comparison.shift, comparison.ratio_of_medians] {
        cells.extend(bounds(bounded));
    }
    for side in [&comparison.a, &comparison.b] {
        cells.extend(counts(side));
    }
    for side in 0..2 {
        cells.extend(share(details.and_then(|details| details.system_share[side])));
    }
    for side in 0..2 {
        cells.push(details.map(|details| values(&details.values[side])).unwrap_or_default());
    }
    let codes: Vec<&str> = comparison.cautions.iter().map(|caution| caution.code.word()).collect();
    cells.push(codes.join(";"));
    let failures = |side: usize| details.map_or(&[][..], |details| &details.failures[side]);
    cells.extend([0, 1].map(|side| failures(side).len().to_string()));
    let texts: Vec<String> = [0, 1].into_iter().flat_map(failures).map(|text| one_line(text)).collect();
    cells.push(texts.join("; "));
    cells.try_into().expect("a cell for each column")
}

fn independent(unit: Unit) -> &'static str {
    match unit {
        Unit::Boot => "boot",
        Unit::Run => "run",
    }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::SignedRanks => "signed-ranks",
        Method::Ranks => "ranks",
        Method::Welch => "welch",
        Method::None => "none",
    }
}

/// A number as it is; nothing where there is none.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

fn bounds(bounded: Option<Bounded>) -> [String; 4] {
    let part = |part: fn(Bounded) -> f64| number(bounded.map(part));
    [part(|b| b.value), part(|b| b.low), part(|b| b.high), part(|b| b.level)]
}

fn share(estimate: Option<Estimate>) -> [String; 3] {
    let part = |part: fn(Estimate) -> f64| number(estimate.map(part));
    [part(|e| e.median), part(|e| e.low), part(|e| e.high)]
}

fn counts(side: &Side) -> [String; 6] {
    [
        side.boots.to_string(),
        side.runs.to_string(),
        side.intervals.to_string(),
        side.units.to_string(),
        number(Some(side.median)),
        number(Some(side.mean)),
    ]
}

fn values(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(";")
}
