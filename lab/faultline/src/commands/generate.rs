//! `faultline generate`: man pages, and completion scripts for shells, from the definitions of the
//! arguments.

use crate::arguments::stored::{Generate, Generated};
use crate::failure::Failure;
use crate::{help, output};
use clap::{Arg, ArgAction, Command};
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use clap_mangen::Man as Page;
use roff::{Roff, roman};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Environment variable with the name of a shell that requests candidates.
const VARIABLE: &str = "FAULTLINE_COMPLETE";

/// Bash's script. Bash splits `zero_fill:base` into three words: the script joins them, and removes
/// the part before the last colon from the candidates.
const BASH: &str = r#"_faultline() {
    local word words=() IFS=$'\013'
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if (( ${#words[@]} )) && [[ $word == :* || ${words[-1]} == *: ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    local current=${words[-1]}
    COMPREPLY=( $(VARIABLE=bash _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 )) faultline -- "${words[@]}") ) || return
    COMPREPLY=( "${COMPREPLY[@]#"${current%"${current##*:}"}"}" )
    [[ ${COMPREPLY-} != *[=/:] ]] || compopt -o nospace 2> /dev/null
}
complete -o bashdefault -F _faultline faultline
"#;

/// Answers a shell that requests candidates, and ends the process.
pub(crate) fn answer() {
    CompleteEnv::with_factory(help::command).var(VARIABLE).complete();
}

pub(crate) fn generate(arguments: &Generate) -> Result<ExitCode, Failure> {
    let script = match arguments.what {
        Generated::Man => return man(arguments.directory.as_deref().unwrap_or(Path::new("."))),
        Generated::Bash => BASH.replace("VARIABLE", VARIABLE),
        Generated::Elvish => script(&Elvish),
        Generated::Fish => script(&Fish),
        Generated::Powershell => script(&Powershell),
        Generated::Zsh => script(&Zsh),
    };
    if arguments.directory.is_some() {
        return Err(Failure::usage("only man pages have a directory", "a script is printed: redirect it to a file"));
    }
    output::print(&script)?;
    Ok(ExitCode::SUCCESS)
}

fn script(completer: &dyn EnvCompleter) -> String {
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "faultline", "faultline", "faultline", &mut script)
        .expect("a vector takes every byte");
    String::from_utf8_lossy(&script).into_owned()
}

fn man(directory: &Path) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(
            format!("cannot write man pages to {}: {error}", directory.display()),
            "name a directory that can be written",
        )
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut command = help::command();
    command.build();
    write_pages(&command, directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command and all its subcommands.
fn write_pages(command: &Command, directory: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    std::fs::write(directory.join(format!("{name}.1")), page(command)?)?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_pages(below, directory))
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let version = concat!("faultline ", env!("CARGO_PKG_VERSION"));
    // Describe the options of `--help-all` too.
    let described = command.clone().mut_args(|argument| argument.hide_short_help(false));
    let page = Page::new(described.override_usage(synopsis(command))).source(version);
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
    if let Some(examples) = command.get_before_help() {
        write_examples(&examples.to_string(), &mut text)?;
    }
    if let Some(notes) = command.get_after_help() {
        write_notes(&notes.to_string(), &mut text)?;
    }
    Ok(text)
}

/// The synopsis: options with the names of their values, then positional arguments.
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let options = shown().filter(|argument| !argument.is_positional() && !is_about(argument)).map(option);
    let positionals = shown().filter(|argument| argument.is_positional()).map(positional);
    let commands = command.has_subcommands().then(|| "COMMAND".to_owned());
    [name.to_owned()].into_iter().chain(options).chain(positionals).chain(commands).collect::<Vec<_>>().join(" ")
}

/// True for the help and version options.
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

/// The examples, line by line.
fn write_examples(text: &str, page: &mut impl Write) -> std::io::Result<()> {
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in text.lines().filter(|line| *line != help::EXAMPLES_HEADING && !line.is_empty()) {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section.to_writer(page)
}

/// The notes, as a paragraph.
fn write_notes(text: &str, page: &mut impl Write) -> std::io::Result<()> {
    let mut section = Roff::new();
    section.control("SH", ["NOTES"]);
    text.lines().for_each(|line| {
        section.text([roman(line)]);
    });
    section.to_writer(page)
}
