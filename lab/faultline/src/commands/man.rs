//! `faultline man`: a page for each command, written from the definitions of the arguments.

use crate::arguments::{Arguments, Man};
use crate::failure::Failure;
use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_mangen::Man as Page;
use roff::{Roff, roman};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn man(arguments: &Man) -> Result<ExitCode, Failure> {
    let directory = &arguments.directory;
    let failed = |error: std::io::Error| {
        Failure::usage(
            format!("cannot write man pages to {}: {error}", directory.display()),
            "name a directory that can be written",
        )
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The pages of a command and of all its subcommands.
fn write_pages(command: &Command, directory: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    std::fs::write(directory.join(format!("{name}.1")), page(command)?)?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_pages(below, directory))
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let version = concat!("faultline ", env!("CARGO_PKG_VERSION"));
    let page = Page::new(command.clone().override_usage(synopsis(command))).source(version);
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        page.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    if let Some(after) = after {
        write_after(&after.to_string(), &mut text)?;
    }
    Ok(text)
}

/// The command with its arguments: options with the names of their values, then positional arguments.
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let options = shown().filter(|argument| !argument.is_positional() && !is_about(argument)).map(option);
    let positionals = shown().filter(|argument| argument.is_positional()).map(positional);
    let commands = command.has_subcommands().then(|| "COMMAND".to_owned());
    [name.to_owned()].into_iter().chain(options).chain(positionals).chain(commands).collect::<Vec<_>>().join(" ")
}

/// Whether it is the help or version option.
fn is_about(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version)
}

fn option(argument: &Arg) -> String {
    let long = argument.get_long().map(|long| format!("--{long}"));
    let name = long.or_else(|| argument.get_short().map(|short| format!("-{short}"))).unwrap_or_default();
    let value = if argument.get_action().takes_values() { format!(" {}", values(argument)) } else { String::new() };
    let again = if matches!(argument.get_action(), ArgAction::Append) && argument.get_value_delimiter().is_none() {
        "..."
    } else {
        ""
    };
    if argument.is_required_set() { format!("{name}{value}{again}") } else { format!("[{name}{value}]{again}") }
}

fn positional(argument: &Arg) -> String {
    let many = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
    let more = if many { "..." } else { "" };
    let dashes = if argument.is_last_set() { "-- " } else { "" };
    let name = values(argument);
    if argument.is_required_set() { format!("{dashes}{name}{more}") } else { format!("[{dashes}{name}]{more}") }
}

fn values(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    if names.is_empty() { argument.get_id().to_string() } else { names.join(" ") }
}

/// The text after the options in the help: indented lines are examples and remain unchanged; other lines are paragraphs.
fn write_after(text: &str, page: &mut impl Write) -> std::io::Result<()> {
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]);
    let lines: Vec<&str> = text.lines().filter(|line| *line != "Examples:" && !line.is_empty()).collect();
    for block in lines.chunk_by(|one, other| one.starts_with("  ") == other.starts_with("  ")) {
        let is_example = block[0].starts_with("  ");
        section.control(if is_example { "nf" } else { "PP" }, []);
        for line in block {
            section.text([roman(*line)]);
        }
        if is_example {
            section.control("fi", []);
        }
    }
    section.to_writer(page)
}
