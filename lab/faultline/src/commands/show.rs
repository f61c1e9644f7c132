//! `faultline show`

use super::{present, stored};
use crate::arguments::Show;
use crate::failure::Failure;
use crate::output;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let record = stored::load(arguments.run, db)?;
    output::print(&present::table(&record, arguments.format.format)?)?;
    Ok(ExitCode::SUCCESS)
}
