//! `faultline store copy`: copies a database into an empty one.

use crate::arguments::{StoreCommand, StoreCopy};
use crate::failure::{self, Failure};
use faultline_experiment::{CopyProgress, copy_database};
use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;

pub(crate) fn store(command: &StoreCommand) -> Result<ExitCode, Failure> {
    match command {
        StoreCommand::Copy(arguments) => copy(arguments),
    }
}

fn copy(arguments: &StoreCopy) -> Result<ExitCode, Failure> {
    // Shown on terminals only.
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {human_pos} of {human_len} rows") {
        bar.set_style(style);
    }
    let mut show = |progress: CopyProgress| {
        bar.set_length(progress.of);
        bar.set_position(progress.rows);
    };
    let copied = copy_database(&arguments.from, &arguments.to, &mut show);
    bar.finish_and_clear();
    let copied = copied?;
    let runs = if copied.runs == 1 { "run" } else { "runs" };
    failure::warn(&format!("copied: {} {runs}, {} rows", copied.runs, copied.rows));
    Ok(ExitCode::SUCCESS)
}
