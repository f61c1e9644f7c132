//! A lens run as CSV: one record per number of CPUs, raw numbers per operation, shares as ratios from 0 to 1.

use crate::grid;
use crate::moment;
use faultline_model::lens::summary::{LensCurve, LensPoint, LensSummary};
use faultline_model::summary::{Estimate, RunSummary};

/// Column names.
const HEADER: [&str; 25] = [
    "run",
    "label",
    "started_utc",
    "workload",
    "variant",
    "mode",
    "operation",
    "cpus",
    "n_repeats",
    "operations",
    "transfers_per_operation_median",
    "transfers_per_operation_low",
    "transfers_per_operation_high",
    "transfers_coverage_ratio",
    "false_sharing_ratio",
    "instructions_per_operation_median",
    "predicted_operations_per_s_median",
    "predicted_speedup_ratio",
    "lines_moved",
    "top_line",
    "top_code",
    "repeats",
    "problems",
    "failures",
    "verdict",
];

/// The run as CSV.
pub(crate) fn csv(summary: &RunSummary, lens: &LensSummary) -> String {
    let records = lens.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    grid::csv(HEADER, records.map(|(curve, point)| record(summary, curve, point)))
}

fn record(summary: &RunSummary, curve: &LensCurve, point: &LensPoint) -> [String; 25] {
    let median = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.median));
    let problems: Vec<&str> = point.problems.iter().map(|problem| problem.kind.as_str()).collect();
    [
        summary.run.to_string(),
        summary.label.clone().unwrap_or_default(),
        moment::iso(summary.started),
        curve.case.workload.clone(),
        curve.case.variant.clone(),
        curve.case.mode.word().to_owned(),
        curve.operation.clone(),
        point.cpus.to_string(),
        point.transfers.map_or(0, |transfers| transfers.n).to_string(),
        point.operations.map(|operations| operations.to_string()).unwrap_or_default(),
        median(point.transfers),
        number(point.transfers.map(|transfers| transfers.low)),
        number(point.transfers.map(|transfers| transfers.high)),
        number(point.transfers.map(|transfers| transfers.coverage)),
        number(point.false_share),
        median(point.instructions),
        median(point.rate),
        number(point.speedup),
        point.lines_moved.to_string(),
        point.lines.first().map(|line| line.name.clone()).unwrap_or_default(),
        point.code.first().map(|code| code.name.clone()).unwrap_or_default(),
        point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";"),
        problems.join(";"),
        point.failures.join("; "),
        curve.verdict.words().to_owned(),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
