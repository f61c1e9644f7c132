//! `faultline lens compare`

use crate::arguments::lens::Compare;
use crate::commands::stored;
use crate::failure::Failure;
use crate::output;
use faultline_model::record::RunRecord;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let load = |run| under_lens(stored::load(Some(run), db)?);
    let comparison = faultline_stats::lens::compare_runs(&load(arguments.a)?, &load(arguments.b)?);
    output::print(&faultline_report::lens_compare_table(&comparison, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a run that measured time.
pub(super) fn under_lens(record: RunRecord) -> Result<RunRecord, Failure> {
    if record.settings.lens().is_some() {
        return Ok(record);
    }
    Err(Failure::usage(
        format!("run {} measured time, not transfers", record.id),
        "`faultline lens kernel` and `faultline lens program` make runs that can be compared",
    ))
}
