//! `faultline lens compare`

use crate::arguments::lens::Compare;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::find_run;
use faultline_experiment::lens::counted;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let load = |run| counted(find_run(run, &places)?, &places);
    let comparison = faultline_stats::lens::compare_runs(&load(&arguments.a)?, &load(&arguments.b)?);
    output::print(&faultline_report::lens_compare_table(&comparison, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
