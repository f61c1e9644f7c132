//! `faultline delete`: shows the runs, asks, and deletes them.

use crate::arguments::Delete;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_experiment::{find_the_run, stored};
use faultline_model::record::RunId;
use faultline_report::Format;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn delete(arguments: &Delete, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let runs: Vec<RunId> = arguments.runs.iter().map(|run| find_the_run(run, &places)).collect::<Result<_, _>>()?;
    if !arguments.yes {
        let mut lines = stored::runs(&places)?;
        lines.retain(|line| runs.contains(&line.id));
        if !is_agreed_to(&faultline_report::runs(&lines, Format::Table, &output::style()), lines.len())? {
            failure::warn(&"nothing was deleted");
            return Ok(failure::some_failed());
        }
    }
    faultline_experiment::delete(&runs, &places)?;
    let numbers: Vec<String> = runs.iter().map(ToString::to_string).collect();
    failure::warn(&format!("deleted: {}", numbers.join(", ")));
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal. `shown`: the runs as a table. Fails if the terminal cannot be read or written.
fn is_agreed_to(shown: &str, count: usize) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "`delete` asks first, and standard input is not a terminal",
            "`--yes` deletes without asking",
        ));
    }
    failure::warn(&shown.trim_end());
    let runs = if count == 1 { "this run" } else { "these runs" };
    let _ = write!(std::io::stderr(), "delete {runs} with all samples? [y/N] ");
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::new(format!("cannot read the answer: {error}"), "`--yes` deletes without asking"))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
