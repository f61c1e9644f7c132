//! `faultline init`

use crate::arguments::history::Init;
use crate::failure::{self, Failure};
use std::process::ExitCode;

pub(crate) fn init(arguments: &Init) -> Result<ExitCode, Failure> {
    faultline_history::declared::write_example(&arguments.file)?;
    failure::warn(&format!("{}: an example; `faultline history commits` checks it", arguments.file.display()));
    Ok(ExitCode::SUCCESS)
}
