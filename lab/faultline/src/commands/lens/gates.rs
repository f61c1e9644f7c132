//! Gates: a run that is done is held to budgets and to another run.

use super::compare::under_lens;
use crate::arguments::lens::Gates;
use crate::commands::stored;
use crate::failure::{self, Failure};
use crate::output;
use faultline_model::record::RunRecord;
use faultline_report::Format;
use faultline_stats::lens::{Tolerance, against, check};
use std::path::Path;
use std::process::ExitCode;

/// The run to be held against, which must be there before anything is run.
pub(super) fn baseline(gates: &Gates, db: Option<&Path>) -> Result<Option<RunRecord>, Failure> {
    gates.baseline.map(|run| under_lens(stored::load(Some(run), db)?)).transpose()
}

/// Holds `record` to all that was asked for, and shows it on standard error: standard output has the run's figures. Fails where
/// `so_far` does.
pub(super) fn hold(gates: &Gates, baseline: Option<&RunRecord>, record: &RunRecord, so_far: ExitCode) -> ExitCode {
    let budgets = (!gates.budgets.is_empty()).then(|| check(&gates.budgets, record));
    let against = baseline.map(|baseline| against(record, baseline, Tolerance::default()));
    let mut passed = true;
    for report in budgets.iter().chain(&against) {
        failure::warn(&faultline_report::budget_table(report, Format::Table, &output::style()).trim_end());
        passed &= report.passed();
    }
    if passed { so_far } else { failure::some_failed() }
}
