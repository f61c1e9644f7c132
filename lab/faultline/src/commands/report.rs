//! `faultline report`

use super::present;
use crate::arguments::Report;
use crate::failure::Failure;
use crate::{output, places};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn report(arguments: &Report, db: Option<&Path>) -> Result<ExitCode, Failure> {
    output::check_file(&arguments.output)?;
    let conclusion = present::stored(arguments.run.as_deref(), &places::found(db)?)?;
    present::write_page(&present::page(&conclusion)?, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
