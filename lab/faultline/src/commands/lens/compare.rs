//! `faultline lens compare`

use crate::arguments::lens::Compare;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::lens;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn compare(arguments: &Compare, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let comparison = lens::compare(&arguments.a, &arguments.b, &places::found(db)?)?;
    output::print(&faultline_report::lens_compare_table(&comparison, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
