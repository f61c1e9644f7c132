//! `faultline facts`

use crate::arguments::Facts;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::{find_run, stored};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn facts(arguments: &Facts, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let facts = match &arguments.run {
        None => {
            let places = places::with_programs(&arguments.place, db)?;
            faultline_experiment::facts(&arguments.machine.on.clone().unwrap_or_default(), &places)?
        }
        Some(run) => {
            let places = places::found(db)?;
            stored::facts(find_run(run, &places)?, &places)?
        }
    };
    output::print(&faultline_report::facts(&facts, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
