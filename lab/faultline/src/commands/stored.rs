//! `faultline list`, `show` and `store`: runs in the database.

use super::measuring::places;
use super::result::{form_of_file, text, write};
use crate::arguments::Global;
use crate::arguments::stored::{List, Show, Shown, Store, StoreCopy, StoreDelete};
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::{
    Conclusion, CopyProgress, Places, check_database, copy_database, find_run, find_the_run, stored,
};
use faultline_record::record::RunId;
use faultline_report::Format;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

pub(crate) fn list(arguments: &List, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let lines = stored::described_runs(&[], &stored::progress_of_histories(&places)?, &places)?;
    output::print(&faultline_report::runs(&lines, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(arguments: &Show, global: &Global) -> Result<ExitCode, Failure> {
    if let Some(path) = &arguments.output {
        arguments.format.map_or_else(|| form_of_file(path), Ok)?;
        output::check_file(path)?;
    }
    let conclusion = conclusion(arguments.run.as_deref(), &places(global)?)?;
    match &arguments.output {
        Some(path) => write(&conclusion, path, arguments.format)?,
        None => output::print(&text(
            &conclusion,
            arguments.format.unwrap_or(Shown::Table(Format::Table)),
            &output::style(),
        )?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The conclusion of a run in the database; the newest run's if `None`. Fails if there is none.
fn conclusion(run: Option<&str>, places: &Places) -> Result<Conclusion, Failure> {
    let run = run.map(|run| find_run(run, places)).transpose()?;
    Ok(stored::conclusion(run, places)?)
}

pub(crate) fn store(command: &Store, global: &Global) -> Result<ExitCode, Failure> {
    match command {
        Store::Copy(arguments) => copy(arguments),
        Store::Check(_) => check(global),
        Store::Delete(arguments) => delete(arguments, global),
    }
}

fn check(global: &Global) -> Result<ExitCode, Failure> {
    let checked = check_database(&places(global)?)?;
    for damaged in &checked.damaged {
        let (run, execution) = (damaged.run, damaged.execution.0);
        output::print(&format!("run {run}: execution {execution} does not match its checksum\n"))?;
    }
    let (runs, executions, damaged) = (checked.runs, checked.executions, checked.damaged.len());
    failure::warn(&format!("checked: {executions} executions of {runs} runs; damaged: {damaged}"));
    Ok(if checked.damaged.is_empty() { ExitCode::SUCCESS } else { failure::some_failed() })
}

fn copy(arguments: &StoreCopy) -> Result<ExitCode, Failure> {
    // Appears on terminals only.
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

fn delete(arguments: &StoreDelete, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let runs: Vec<RunId> = arguments.runs.iter().map(|run| find_the_run(run, &places)).collect::<Result<_, _>>()?;
    if !arguments.yes {
        let mut lines = stored::runs(&places)?;
        lines.retain(|line| runs.contains(&line.id));
        if !is_confirmed(&faultline_report::runs(&lines, Format::Table, &output::style()), lines.len())? {
            failure::warn(&"nothing was deleted");
            return Ok(failure::some_failed());
        }
    }
    faultline_experiment::delete(&runs, &places)?;
    let numbers: Vec<String> = runs.iter().map(ToString::to_string).collect();
    failure::warn(&format!("deleted: {}", numbers.join(", ")));
    Ok(ExitCode::SUCCESS)
}

/// Shows the runs as a table and asks on the terminal. Fails if the terminal cannot be read or
/// written.
fn is_confirmed(table: &str, count: usize) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage(
            "`store delete` asks first, and standard input is not a terminal",
            "`--yes` deletes without asking",
        ));
    }
    failure::warn(&table.trim_end());
    let runs = if count == 1 { "this run" } else { "these runs" };
    let _ = write!(std::io::stderr(), "delete {runs} with all samples? [y/N] ");
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::new(format!("cannot read the answer: {error}"), "`--yes` deletes without asking"))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
