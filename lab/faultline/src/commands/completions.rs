//! `faultline completions`: written from the definitions of the arguments.

use crate::arguments::{Arguments, Completions};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use std::process::ExitCode;

pub(crate) fn completions(arguments: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "faultline", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
