//! `faultline show`

use super::present;
use crate::arguments::{Show, Shown};
use crate::failure::Failure;
use crate::{output, places};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conclusion = present::stored(arguments.run.as_deref(), &places::found(db)?)?;
    let text = match arguments.format {
        Shown::Table(format) => present::table(&conclusion, format),
        Shown::Folded => present::folded(&conclusion)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
