//! `faultline import` and `faultline export`: figures of other tools in, ours out.

use crate::arguments::exchange::{Export, Import};
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_exchange::Written;
use faultline_experiment::{ImportRequest, Imported, Places, operand, stored};
use faultline_runner::SystemClock;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn import(arguments: &Import, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = places::found(db)?;
    let Some(file) = arguments.file.clone() else { return list(arguments, &places) };
    let request = ImportRequest { file, from: arguments.from.from, name: arguments.name.clone() };
    let Imported { name, format, series, points } =
        faultline_experiment::import(&request, &places, &SystemClock::default())?;
    failure::warn(&format!(
        "imported as '{name}' from {format}: {series} benchmarks, {points} runs",
        format = format.name()
    ));
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &Import, places: &Places) -> Result<ExitCode, Failure> {
    let lines = stored::imports(places)?;
    output::print(&faultline_report::imported(&lines, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn export(arguments: &Export, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let operand = operand::resolve(&arguments.what, arguments.from.from, &places::found(db)?)?;
    let written = faultline_exchange::write(&faultline_report::worded_dataset(operand.dataset()), arguments.to)
        .map_err(|error| Failure::usage(format!("{}: {}", operand.name, error), error.hint))?;
    put(&written, arguments.output.as_deref())?;
    for loss in &written.losses {
        failure::warn(&format!("left out, because {} cannot hold it: {loss}", arguments.to.name()));
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
