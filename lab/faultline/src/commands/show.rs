//! `faultline show`

use super::present;
use crate::arguments::Show;
use crate::failure::Failure;
use crate::{output, places};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conclusion = present::stored(arguments.run.as_deref(), &places::found(db)?)?;
    output::print(&present::table(&conclusion, arguments.format.format))?;
    Ok(ExitCode::SUCCESS)
}
