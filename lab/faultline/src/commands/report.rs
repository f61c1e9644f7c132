//! `faultline report`

use super::present;
use crate::arguments::Report;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::stored;
use faultline_model::record::RunId;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn report(arguments: &Report, db: Option<&Path>) -> Result<ExitCode, Failure> {
    output::check_file(&arguments.output)?;
    let conclusion = stored::conclusion(arguments.run.map(RunId), &places::found(db)?)?;
    present::write_page(&present::page(&conclusion), &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
