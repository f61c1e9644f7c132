//! `faultline lens types`

use crate::arguments::lens::Types;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::find_run;
use faultline_experiment::lens;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn types(arguments: &Types, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let types = lens::types(find_run(&arguments.run, &places)?, &arguments.types, arguments.cpus, &places)?;
    output::print(&faultline_report::lens_types_table(&types, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}
