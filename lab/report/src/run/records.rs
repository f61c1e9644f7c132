//! A run's figures as CSV: one record per point, raw numbers, shares as ratios from 0 to 1.

use crate::grid;
use crate::moment;
use faultline_model::summary::{Curve, Estimate, Point, RunSummary, TimeShares};

/// Column names; `value_*` and `repeats` are in the unit of the column `unit`.
const HEADER: [&str; 35] = [
    "run",
    "label",
    "started_utc",
    "workload",
    "variant",
    "mode",
    "operation",
    "direction",
    "tasks",
    "unit",
    "value_median",
    "value_low",
    "value_high",
    "value_coverage_ratio",
    "n_repeats",
    "n_intervals",
    "base_tasks",
    "speedup_ratio",
    "speedup_low_ratio",
    "speedup_high_ratio",
    "efficiency_ratio",
    "efficiency_low_ratio",
    "efficiency_high_ratio",
    "efficiency_coverage_ratio",
    "system_share_of_task_time_ratio",
    "system_share_low_ratio",
    "system_share_high_ratio",
    "machine_user_time_ratio",
    "machine_system_time_ratio",
    "machine_idle_time_ratio",
    "machine_steal_time_ratio",
    "repeats",
    "failures",
    "failure_texts",
    "verdict",
];

/// The run as CSV.
pub(crate) fn csv(summary: &RunSummary) -> String {
    let records = summary.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    grid::csv(HEADER, records.map(|(curve, point)| record(summary, curve, point)))
}

fn record(summary: &RunSummary, curve: &Curve, point: &Point) -> [String; 35] {
    let [value, low, high] = ends(point.value);
    let [speedup, speedup_low, speedup_high] = ends(point.speedup);
    let [efficiency, efficiency_low, efficiency_high] = ends(point.efficiency);
    let [system, system_low, system_high] = ends(point.system_share);
    let share = |part: fn(&TimeShares) -> f64| number(point.shares.as_ref().map(part));
    let words = serde_json::to_value(curve.verdict).ok();
    [
        summary.run.to_string(),
        summary.label.clone().unwrap_or_default(),
        moment::iso(summary.started),
        curve.case.workload.clone(),
        curve.case.variant.clone(),
        curve.case.mode.word().to_owned(),
        curve.operation.clone(),
        curve.direction.word().to_owned(),
        point.tasks.to_string(),
        curve.unit.clone(),
        value,
        low,
        high,
        number(point.value.map(|value| value.coverage)),
        point.value.map_or(0, |value| value.n).to_string(),
        point.intervals.to_string(),
        curve.base_tasks.map(|tasks| tasks.to_string()).unwrap_or_default(),
        speedup,
        speedup_low,
        speedup_high,
        efficiency,
        efficiency_low,
        efficiency_high,
        number(point.efficiency.map(|efficiency| efficiency.coverage)),
        system,
        system_low,
        system_high,
        share(|shares| shares.user),
        share(|shares| shares.system),
        share(|shares| shares.idle),
        share(|shares| shares.steal),
        point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";"),
        point.failures.len().to_string(),
        point.failures.join("; "),
        words.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned(),
    ]
}

fn ends(estimate: Option<Estimate>) -> [String; 3] {
    [number(estimate.map(|e| e.median)), number(estimate.map(|e| e.low)), number(estimate.map(|e| e.high))]
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
