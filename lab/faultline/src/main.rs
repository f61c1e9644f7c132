//! The command `faultline`: parses arguments and prints results. The other crates of the lab do the work; this one connects them.

mod arguments;
mod commands;
mod completing;
mod failure;
mod notice;
mod output;
mod places;
mod progress;
mod signals;

use clap::Parser;
use faultline_history::linker;
use faultline_targets::keeper;
use faultline_targets::network::holder;
use std::process::ExitCode;

use arguments::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(first) if first == keeper::ARGUMENT => return keeper::run(words),
        Some(first) if first == holder::ARGUMENT => return holder::run(words),
        Some(first) if first == linker::ARGUMENT => return linker::run(words),
        _ => {}
    }
    commands::completions::answer();
    match Arguments::try_parse() {
        Ok(arguments) => finish(dispatch(&arguments)),
        Err(error) => failure::usage(&error),
    }
}

fn dispatch(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let db = arguments.db.as_deref();
    match &arguments.command {
        Command::Run(run) => commands::run::run(run, db),
        Command::Resume(resume) => commands::resume::resume(resume, db),
        Command::Lens(lens) => commands::lens::lens(lens, db),
        Command::List(list) => commands::list::list(list, db),
        Command::Show(show) => commands::show::show(show, db),
        Command::Compare(compare) => commands::compare::compare(compare, db),
        Command::Init(init) => commands::init::init(init),
        Command::History(history) => commands::history::history(history, db),
        Command::Bisect(bisect) => commands::bisect::bisect(bisect, db),
        Command::Try(arguments) => commands::try_patches::try_patches(arguments, db),
        Command::Check(check) => commands::check::check(check, db),
        Command::Changes(changes) => commands::changes::changes(changes, db),
        Command::Import(import) => commands::exchange::import(import, db),
        Command::Export(export) => commands::exchange::export(export, db),
        Command::Report(report) => commands::report::report(report, db),
        Command::Serve(serve) => commands::serve::serve(serve, db),
        Command::ExportSite(site) => commands::export_site::export_site(site, db),
        Command::Delete(delete) => commands::delete::delete(delete, db),
        Command::Store(store) => commands::store::store(store),
        Command::Workloads(workloads) => commands::workloads::workloads(workloads),
        Command::Facts(facts) => commands::facts::facts(facts, db),
        Command::Published(published) => commands::published::published(published, db),
        Command::Completions(completions) => commands::completions::completions(completions),
        Command::Man(man) => commands::man::man(man),
    }
}

fn finish(outcome: Result<ExitCode, Failure>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.tell(),
    }
}
