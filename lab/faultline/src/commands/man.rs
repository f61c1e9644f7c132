//! `faultline man`: written from the definitions of the arguments.

use crate::arguments::{Arguments, Man};
use crate::failure::Failure;
use clap::CommandFactory;
use std::process::ExitCode;

pub(crate) fn man(arguments: &Man) -> Result<ExitCode, Failure> {
    let directory = &arguments.directory;
    let failed = |error: std::io::Error| {
        Failure::new(
            format!("cannot write man pages to {}: {error}", directory.display()),
            "name a directory that can be written",
        )
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
