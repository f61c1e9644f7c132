//! `faultline import` and `faultline export`: figures of other tools in, ours out.

use super::{measure, operand};
use crate::arguments::exchange::{Export, Import};
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_exchange::Written;
use faultline_store::Store;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn import(arguments: &Import, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let Some(file) = &arguments.file else { return list(arguments, db) };
    if !file.exists() {
        return Err(Failure::usage(
            format!("there is no file {}", file.display()),
            "name a file or directory that another tool wrote",
        ));
    }
    let (format, dataset) = operand::read(file, arguments.from.from)?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => file.file_name().map_or_else(|| "import".to_owned(), |name| name.to_string_lossy().into_owned()),
    };
    let is_plain = !name.trim().is_empty() && name.trim() == name && !name.contains(char::is_control);
    if !is_plain || name.parse::<i64>().is_ok() || name.contains('@') {
        return Err(Failure::usage(
            format!("'{name}' can't be a name: numbers are runs, after @ comes a commit, and it is a plain word"),
            "`--name NAME` gives another",
        ));
    }
    let path = places::database(db)?;
    let mut store = Store::open_or_create(&path)?;
    store.save_dataset(&name, format.name(), measure::now(), &dataset)?;
    let points: usize = dataset.series.iter().map(|series| series.points.len()).sum();
    let series = dataset.series.len();
    failure::warn(&format!(
        "taken in as '{name}' from {format}: {series} benchmarks, {points} runs",
        format = format.name()
    ));
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &Import, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let lines = places::existing_store(db)?.list_datasets()?;
    output::print(&faultline_report::imported(&lines, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn export(arguments: &Export, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let operand = operand::resolve(&arguments.what, arguments.from.from, db)?;
    let written = faultline_exchange::write(&operand.dataset(), arguments.to)
        .map_err(|error| Failure::usage(format!("{}: {}", operand.name, error), error.hint))?;
    put(&written, arguments.output.as_deref())?;
    for loss in &written.losses {
        failure::warn(&format!("left out, as {} has no place for it: {loss}", arguments.to.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// One file to standard output or where it is wanted, several into a directory that is new or empty.
pub(super) fn put(written: &Written, output: Option<&Path>) -> Result<(), Failure> {
    match (written.files.as_slice(), output) {
        ([(_, text)], None) => output::print(text),
        ([(_, text)], Some(path)) if !path.is_dir() => output::write_file(path, text),
        (_, None) => Err(Failure::usage("this format has several files", "`-o DIR` names a directory for them")),
        (files, Some(directory)) => {
            let taken = directory.read_dir().is_ok_and(|mut entries| entries.next().is_some());
            if taken {
                return Err(Failure::usage(
                    format!("{} is not empty", directory.display()),
                    "`-o DIR` takes a directory that is new or empty",
                ));
            }
            for (name, text) in files {
                let path = directory.join(name);
                let parent = path.parent().unwrap_or(directory);
                std::fs::create_dir_all(parent).map_err(|error| {
                    Failure::new(format!("cannot make {}: {error}", parent.display()), "name another with `-o DIR`")
                })?;
                output::write_file(&path, text)?;
            }
            Ok(())
        }
    }
}
