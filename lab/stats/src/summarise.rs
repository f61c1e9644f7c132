//! Computes a run's summary from its record: gathers, estimates, judges and warns.

use crate::command_figures::command_figures;
use crate::curve::curve;
use crate::figures::Curve;
use crate::gather::gather;
use crate::lens;
use crate::machine::{self, Cpus};
use crate::progress::{progress, standings};
use crate::said::Said;
use crate::summary::RunSummary;
use crate::warnings::{Findings, warnings, warnings_of_lens};
use faultline_record::record::RunRecord;

/// Summarises a run, complete or not. Parts that cannot be computed are left out. All numbers in
/// the summary are finite.
pub fn summarise(record: &RunRecord) -> RunSummary {
    let cpus = Cpus::of(record);
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    // Lens runs measure no real time, so they have no curves.
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
        machine: match record.settings.lens() {
            Some(_) => machine::line_of_lens(record.facts()),
            None => machine::line(record.facts()),
        },
        progress: progress(&standings),
        curves,
        warnings: warnings.into_iter().map(Said::from).collect(),
        command: command_figures(record, &cases),
        lens: lens::summary(record, &standings),
    }
}
