//! `faultline report`

use super::{present, stored};
use crate::arguments::Report;
use crate::failure::Failure;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn report(arguments: &Report, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let record = stored::load(arguments.run, db)?;
    present::write_page(&record, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
