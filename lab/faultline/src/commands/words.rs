//! `faultline completions` and `faultline man`: both are written from the definitions of the arguments.

use crate::arguments::{Arguments, Completions, Man};
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
