//! The command `faultline`: parses arguments and prints results. The other crates of the lab do the
//! work.

mod arguments;
mod commands;
mod failure;
mod help;
mod output;
mod progress;

use arguments::{Arguments, Command};
use commands::{bisect, compare, completions, history, lens, measure, share, stored};
use failure::Failure;
use faultline_history::linker;
use faultline_targets::keeper;
use faultline_targets::network::holder;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(first) if first == keeper::ARGUMENT => return keeper::run(words),
        Some(first) if first == holder::ARGUMENT => return holder::run(words),
        Some(first) if first == linker::ARGUMENT => return linker::run(words),
        _ => {}
    }
    completions::answer();
    match help::parse() {
        Ok(arguments) => dispatch(&arguments).unwrap_or_else(|failure| failure.tell()),
        Err(error) => failure::usage(&error),
    }
}

fn dispatch(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let db = arguments.db.as_deref();
    match &arguments.command {
        Command::Run(arguments) => measure::run(arguments, db),
        Command::Check(arguments) => measure::check(arguments, db),
        Command::Lens(command) => lens::lens(command, db),
        Command::Resume(arguments) => measure::resume(arguments, db),
        Command::List(arguments) => stored::list(arguments, db),
        Command::Show(arguments) => stored::show(arguments, db),
        Command::Compare(arguments) => compare::compare(arguments, db),
        Command::Changes(arguments) => compare::changes(arguments, db),
        Command::Bisect(arguments) => bisect::bisect(arguments, db),
        Command::Try(arguments) => bisect::try_patches(arguments, db),
        Command::History(command) => history::history(command, db),
        Command::Serve(arguments) => share::serve(arguments, db),
        Command::Import(arguments) => share::import(arguments, db),
        Command::Export(arguments) => share::export(arguments, db),
        Command::Store(command) => stored::store(command, db),
        Command::Completions(arguments) => completions::completions(arguments),
        Command::Man(arguments) => completions::man(arguments),
    }
}
