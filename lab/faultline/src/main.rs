//! The command `faultline`: parses arguments and prints results. The other crates of the lab do the
//! work.

mod arguments;
mod commands;
mod failure;
mod help;
mod output;
mod progress;

use arguments::{Arguments, Command};
use commands::{bisect, ci, compare, generate, history, lens, measure, share, stored, trust};
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
    generate::answer();
    match help::parse() {
        Ok(arguments) => trusting(&arguments).unwrap_or_else(|failure| failure.tell()),
        Err(error) => failure::usage(&error),
    }
}

/// Executes the command. If it needs a file that the user has not trusted, asks on the terminal and
/// starts again.
fn trusting(arguments: &Arguments) -> Result<ExitCode, Failure> {
    loop {
        let ended = dispatch(arguments);
        let Some(file) = ended.as_ref().err().and_then(Failure::untrusted) else { return ended };
        if !trust::is_accepted(file, &arguments.global)? {
            return ended;
        }
    }
}

fn dispatch(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Run(arguments) => measure::run(arguments, global),
        Command::Check(arguments) => measure::check(arguments, global),
        Command::Lens(command) => lens::lens(command, global),
        Command::Resume(arguments) => measure::resume(arguments, global),
        Command::List(arguments) => stored::list(arguments, global),
        Command::Show(arguments) => stored::show(arguments, global),
        Command::Compare(arguments) => compare::compare(arguments, global),
        Command::Changes(arguments) => compare::changes(arguments, global),
        Command::Bisect(arguments) => bisect::bisect(arguments, global),
        Command::Ci(arguments) => ci::ci(arguments, global),
        Command::Try(arguments) => bisect::try_patches(arguments, global),
        Command::History(command) => history::history(command, global),
        Command::Serve(arguments) => share::serve(arguments, global),
        Command::Import(arguments) => share::import(arguments, global),
        Command::Export(arguments) => share::export(arguments, global),
        Command::Store(command) => stored::store(command, global),
        Command::Trust(arguments) => trust::trust(arguments, global),
        Command::Generate(arguments) => generate::generate(arguments),
    }
}
