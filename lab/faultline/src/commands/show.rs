//! `faultline show`

use super::stored;
use crate::arguments::Show;
use crate::failure::Failure;
use crate::output;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let summary = faultline_stats::summarise(&stored::load(arguments.run, db)?);
    output::print(&faultline_report::run_table(&summary, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
