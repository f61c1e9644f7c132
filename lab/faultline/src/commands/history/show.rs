//! `faultline history show`

use super::{chosen, declared, stored};
use crate::arguments::history::Show;
use crate::failure::Failure;
use crate::{output, places};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn show(arguments: &Show, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let declared = declared(&arguments.subjects.config)?;
    let subjects = chosen(&declared, &arguments.subjects)?;
    let all = stored(&subjects, &arguments.steps, &places::found(db)?)?;
    output::print(&faultline_report::history(&all, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
