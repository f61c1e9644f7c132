//! The way from a record to its summary: gathers, estimates, judges and warns, each by a file of its own.

use crate::curve::curve;
use crate::gather::gather;
use crate::lens;
use crate::machine::{self, Cpus};
use crate::progress::{progress, standings};
use crate::warnings::{Findings, warnings, warnings_of_lens};
use faultline_model::record::RunRecord;
use faultline_model::said::Said;
use faultline_model::summary::{Curve, RunSummary};

/// Sums a run up. Takes any record, complete or not: what can't be said is left out, and every number in the summary
/// is finite.
pub fn summarise(record: &RunRecord) -> RunSummary {
    let cpus = Cpus::of(record);
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    // Under the lens time is that of an emulator: it makes no curves.
    let timed = record.settings.timed().is_some();
    let curves: Vec<Curve> = cases.iter().filter(|_| timed).map(|case| curve(case, &cpus)).collect();
    let findings = Findings { record, cpus, standings: &standings, cases: &cases, curves: &curves };
    let warnings = if timed { warnings(&findings) } else { warnings_of_lens(&findings) };
    RunSummary {
        format: RunSummary::FORMAT.to_owned(),
        run: record.id,
        label: record.label.clone(),
        started: record.started(),
        state: record.state,
        machine: machine::line(record.facts()),
        progress: progress(&standings),
        curves,
        warnings: warnings.into_iter().map(Said::from).collect(),
        lens: lens::summary(record, &standings),
    }
}
