//! Help: commands in four groups on one screen, examples before options, rare options with
//! `--help-all`.

use crate::arguments::Arguments;
use clap::builder::{Resettable, StyledStr};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

/// The groups of commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Measure", &["run", "check", "lens", "resume"]),
    ("Compare", &["list", "show", "compare", "changes"]),
    ("Commits", &["ci", "bisect", "try", "history"]),
    ("Share", &["serve", "import", "export", "store", "trust", "generate"]),
];

const EXAMPLES: &str = "\
Examples:
  faultline run                                      quick suite, two minutes
  faultline lens kernel fault_existing               why does it not scale?
  faultline bisect v1.4 HEAD --build make -- ./prog  since which commit?
  faultline ci main...HEAD --build make -- ./prog    may this change be merged?
";

const OPTIONS: &str = "\
Options:
  --db FILE|URL  Database: a file, or postgres://USER@HOST/DATABASE
  --trust        Use the faultline.toml of the command without asking
  -V, --version  Print version
  -h, --help     Print help; `faultline COMMAND --help-all` has all options
";

/// The order of help: examples come before usage and options.
const TEMPLATE: &str = "\
{about-with-newline}
{before-help}{usage-heading} {usage}

{all-args}{after-help}";

/// The first line of examples.
pub(crate) const EXAMPLES_HEADING: &str = "Examples:";

/// The arguments of this process. Fails for invalid arguments, and for requests of help. A `--` at
/// the end is invalid: the command that was to follow, such as `$COMMAND`, is empty.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    let arguments = Arguments::from_arg_matches(&command().try_get_matches()?)?;
    let mut words = std::env::args_os().skip(1).skip_while(|word| word != "--");
    match (words.next(), words.next()) {
        (Some(_), None) => Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, "there is no command after `--`")),
        _ => Ok(arguments),
    }
}

/// The definitions of all commands, with their help.
pub(crate) fn command() -> Command {
    let command = arranged(Arguments::command());
    let overview = overview(&command);
    command.override_help(overview)
}

/// Arranges the help of a command and its subcommands.
fn arranged(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let mut command = names.iter().fold(command, |command, name| command.mut_subcommand(name, arranged));
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        let (examples, notes) = split(&text);
        command = command.before_help(examples).after_help(notes);
    }
    let help = |long: &'static str, action| {
        Arg::new(long).long(long).action(action).help_heading(None::<&str>).display_order(998)
    };
    command
        .mut_args(with_any_number)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .help_template(TEMPLATE)
        .arg(help("help", ArgAction::HelpShort).short('h').help("Print help"))
        .arg(help("help-all", ArgAction::HelpLong).help("Print help with all options"))
}

/// Lets an option that takes a number take a negative one, so that the error names the range.
fn with_any_number(argument: Arg) -> Arg {
    const NUMBERS: [&str; 7] = ["N", "N,N,…", "N|DURATION", "DURATION", "PERCENT", "SIZE", "MIB"];
    let names = argument.get_value_names().unwrap_or_default();
    let is_number = !argument.is_positional() && names.iter().any(|name| NUMBERS.contains(&name.as_str()));
    if is_number { argument.allow_hyphen_values(true) } else { argument }
}

/// Splits a text into examples, which are indented, and the notes after them, which become a
/// paragraph.
fn split(text: &str) -> (Resettable<StyledStr>, Resettable<StyledStr>) {
    let lines: Vec<&str> = text.lines().collect();
    let is_example = |line: &&str| *line == EXAMPLES_HEADING || line.starts_with("  ") || line.is_empty();
    let end = lines.iter().position(|line| !is_example(line)).unwrap_or(lines.len());
    let part = |lines: &[&str], between| match lines.is_empty() {
        true => Resettable::Reset,
        false => Resettable::Value(lines.join(between).into()),
    };
    (part(&lines[..end], "\n"), part(&lines[end..], " "))
}

/// The help of the command itself.
fn overview(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}\n\n{EXAMPLES}\nUsage: faultline [OPTIONS] COMMAND\n");
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for below in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<8}  {about}\n", below.get_name()));
        }
    }
    format!("{text}\n{OPTIONS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_COMMANDS: usize = 18;
    const MOST_OPTIONS: usize = 25;
    /// The width of help, beyond which examples would be wrapped.
    const WIDEST: usize = 100;

    #[test]
    fn the_definitions_agree_with_each_other() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_and_all_fit_on_a_screen() {
        let command = command();
        let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
        assert!(names.len() <= MOST_COMMANDS, "{}", names.len());
        let overview = overview(&command);
        assert!(overview.lines().count() <= 41, "{overview}");
        assert!(overview.lines().all(|line| line.chars().count() <= 80), "{overview}");
    }

    /// All commands, with the names of those above them.
    fn all(command: &Command, above: &str) -> Vec<(String, Command)> {
        let name = format!("{above} {}", command.get_name());
        let below = command.get_subcommands().flat_map(|below| all(below, &name));
        std::iter::once((name.clone(), command.clone())).chain(below).collect()
    }

    #[test]
    fn a_command_shows_few_options_and_leads_with_examples() {
        for (name, command) in all(&command(), "") {
            let is_shown = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set() && !arg.is_hide_short_help_set();
            let shown = command.get_arguments().filter(is_shown).count() + 1;
            assert!(shown <= MOST_OPTIONS, "{name} shows {shown} options with --db");
            let examples = command.get_before_help().map(ToString::to_string);
            let leads = examples.as_ref().is_some_and(|text| text.starts_with(EXAMPLES_HEADING));
            let examples = examples.unwrap_or_default();
            assert!(
                examples.lines().all(|line| line.chars().count() <= WIDEST),
                "{name} has a wide example: {examples}"
            );
            assert!(leads || name == " faultline" || command.has_subcommands(), "{name} has no examples");
        }
    }

    #[test]
    fn help_is_phrases_and_imperatives() {
        const CLAUSES: [&str; 8] = ["What", "How", "Whether", "Which", "Where", "That", "The same", "Who"];
        for (name, command) in all(&command(), "") {
            for argument in command.get_arguments().filter_map(|argument| argument.get_help()) {
                let help = argument.to_string();
                let opening = CLAUSES.iter().find(|word| help.starts_with(&format!("{word} ")));
                assert!(opening.is_none() && !help.ends_with('.'), "{name}: {help}");
            }
        }
    }
}
