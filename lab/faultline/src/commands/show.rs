//! `faultline show`

use super::present;
use crate::arguments::Show;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::stored;
use faultline_model::record::RunId;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conclusion = stored::conclusion(arguments.run.map(RunId), &places::found(db)?)?;
    output::print(&present::table(&conclusion, arguments.format.format))?;
    Ok(ExitCode::SUCCESS)
}
