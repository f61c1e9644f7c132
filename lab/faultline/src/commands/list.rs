//! `faultline list`

use crate::arguments::List;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::stored;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn list(arguments: &List, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let lines = stored::described_runs(&[], &stored::progress_of_histories(&places)?, &places)?;
    output::print(&faultline_report::runs(&lines, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
