//! `faultline facts`

use super::stored;
use crate::arguments::Facts;
use crate::failure::Failure;
use crate::{output, places};
use faultline_targets::StopFlag;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn facts(arguments: &Facts, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let facts = match arguments.run {
        None => {
            let stop = StopFlag::default();
            places::place(&arguments.machine, &arguments.place, None, &stop)?.target.facts()
        }
        Some(_) => stored::load(arguments.run, db)?.facts().cloned().unwrap_or_default(),
    };
    output::print(&faultline_report::facts(&facts, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
