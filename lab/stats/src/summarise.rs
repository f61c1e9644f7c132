//! The way from a record to its summary: gathers, estimates, judges and warns, each by a file of its own.

use crate::curve::curve;
use crate::gather::gather;
use crate::machine::{self, Cpus};
use crate::progress::{progress, standings};
use crate::warnings::{Findings, warnings};
use faultline_model::record::RunRecord;
use faultline_model::summary::{Curve, RunSummary};

/// Sums a run up. Takes any record, complete or not: what can't be said is left out, and every number in the summary
/// is finite.
pub fn summarise(record: &RunRecord) -> RunSummary {
    let cpus = Cpus::of(record);
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    let curves: Vec<Curve> = cases.iter().map(|case| curve(case, cpus.own())).collect();
    let warnings = warnings(&Findings { record, cpus, standings: &standings, cases: &cases, curves: &curves });
    RunSummary {
        format: RunSummary::FORMAT.to_owned(),
        run: record.id,
        label: record.label.clone(),
        started: record.started(),
        state: record.state,
        machine: machine::line(record.facts()),
        progress: progress(&standings),
        curves,
        warnings,
    }
}
