//! Arguments about the commands that `faultline run` and `faultline compare` measure.

use clap::Args;
use std::path::PathBuf;

/// Set-up and preparation of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Commands")]
pub(crate) struct Around {
    /// Run commands by `/bin/sh -c` [default: split into words, without a shell]
    #[arg(long)]
    pub(crate) shell: bool,

    /// Command to run before each execution, not measured
    #[arg(long, value_name = "COMMAND")]
    pub(crate) prepare: Option<String>,

    /// Command to run once, before the first execution
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup: Option<String>,
}

/// Export of a command's results.
#[derive(Debug, Args)]
pub(crate) struct ExportJson {
    /// Also write the executions of a command to this file, as hyperfine's JSON
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Output")]
    pub(crate) export_json: Option<PathBuf>,
}
