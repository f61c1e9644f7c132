//! Failures of the command: one line with the problem, one with a hint, and an exit status.
//!
//! Statuses: 1 something failed, or the answer of a gate is no; 2 the request is invalid, or a gate
//! cannot answer; 130 stopped by the user.

use crate::help;
use clap::Command;
use clap::error::ErrorKind;
use faultline_experiment::{self as experiment, Because, Error};
use faultline_report::escape::unsafe_replaced;
use faultline_report::{Style, outcome_words, unmatched_words};
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use terminal_size::terminal_size_of;

/// Exit status when something failed.
const FAILED: u8 = 1;
/// Exit status when the request is invalid, or when a gate cannot answer.
const USAGE: u8 = 2;
/// Exit status when the user stopped it: 128 + SIGINT.
const STOPPED: u8 = 130;

/// A failure with its hint and exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    problem: String,
    hint: Option<String>,
    status: u8,
    /// The `faultline.toml` to which the user has not consented, if that is the reason.
    untrusted: Option<PathBuf>,
}

impl Failure {
    /// Something failed.
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { problem: problem.into(), hint: Some(hint.into()), status: FAILED, untrusted: None }
    }

    /// The request is invalid.
    pub(crate) fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { status: USAGE, ..Self::new(problem, hint) }
    }

    /// The reader of standard output has ended: nothing is left to do or report.
    pub(crate) fn reader_gone() -> Self {
        Failure { problem: String::new(), hint: None, status: 0, untrusted: None }
    }

    /// The file that the user has not trusted, if that is the reason.
    pub(crate) fn untrusted(&self) -> Option<&Path> {
        self.untrusted.as_deref()
    }

    /// This failure with the status of a gate that cannot answer, unless the user stopped it.
    pub(crate) fn unmeasured(self) -> Self {
        Failure { status: if self.status == FAILED { USAGE } else { self.status }, ..self }
    }

    /// Prints it on standard error.
    pub(crate) fn tell(&self) -> ExitCode {
        if !self.problem.is_empty() {
            warn(&format!("faultline: {}", one_line(&self.problem)));
        }
        if let Some(hint) = &self.hint {
            warn(&format!("hint: {}", one_line(hint)));
        }
        ExitCode::from(self.status)
    }
}

/// Joins lines: cited text may have several.
fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Part of the work failed, and this was recorded.
pub(crate) fn some_failed() -> ExitCode {
    ExitCode::from(FAILED)
}

/// A gate cannot answer, because something could not be measured.
pub(crate) fn unmeasured() -> ExitCode {
    ExitCode::from(USAGE)
}

/// The user stopped it.
pub(crate) fn stopped() -> ExitCode {
    ExitCode::from(STOPPED)
}

/// Prints a line on standard error; errors are ignored. Unsafe characters are replaced, because the
/// line may cite files, arguments and output of programs.
pub(crate) fn warn(line: &dyn Display) {
    let shown = |c: char| if c != '\n' && unsafe_replaced(c).is_some() { '\u{FFFD}' } else { c };
    let line: String = line.to_string().chars().map(shown).collect();
    let width = terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0));
    let _ = writeln!(std::io::stderr(), "{}", wrapped(line, width));
}

/// A line within the width of a terminal; its further parts are indented. Several lines, such as a
/// table, lines elsewhere, and a line with a path that does not fit, which must stay whole to be
/// copied, are not changed.
fn wrapped(line: String, width: Option<usize>) -> String {
    let fits = |width: usize| line.split(' ').all(|word| word.chars().count() + 2 <= width);
    match width {
        Some(columns) if !line.contains('\n') && fits(columns) => {
            Style { width, ..Style::PLAIN }.wrap(&line, "", "  ").join("\n")
        }
        _ => line,
    }
}

/// Prints the argument parser's message: help and version unchanged, an error as one line and a
/// hint.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Ignore a reader that has ended.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::MissingSubcommand {
        warn(&called().1.render_help().to_string().trim_end());
        return ExitCode::from(USAGE);
    }
    let text = error.render().to_string();
    let hint = tip(&text).unwrap_or_else(|| format!("`faultline{} --help` shows what it takes", called().0));
    Failure::usage(problem(&text), hint).tell()
}

/// The command that was called, such as `" lens kernel"`, with its definition; the name is empty if
/// it is unknown.
fn called() -> (String, Command) {
    let mut command = help::command();
    // Names it by its whole path in the usage.
    command.build();
    let mut called = String::new();
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        // Options that may precede a command.
        if word == "--db" {
            words.next();
            continue;
        }
        if word == "--trust" || word.starts_with("--db=") {
            continue;
        }
        let Some(next) = command.find_subcommand(&*word).cloned() else { break };
        called.push_str(&format!(" {word}"));
        command = next;
    }
    (called, command)
}

/// The first paragraph without its prefix, as one line.
fn problem(text: &str) -> String {
    let paragraph = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parser's tip, such as a similar option. Its misleading tip to pass an unknown option after
/// `--` is left out.
fn tip(text: &str) -> Option<String> {
    let mut tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: "));
    tips.find(|tip| !tip.starts_with("to pass ")).map(str::to_owned)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (mut status, mut untrusted) = (USAGE, None);
        match error.kind {
            experiment::ErrorKind::Usage | experiment::ErrorKind::Unusable => {}
            experiment::ErrorKind::Untrusted { file } => untrusted = Some(file),
            experiment::ErrorKind::Unanswerable | experiment::ErrorKind::Failed | experiment::ErrorKind::Lab => {
                status = FAILED
            }
            experiment::ErrorKind::Stopped => status = STOPPED,
        }
        let because = error.because.iter().map(because).collect::<String>();
        Failure { problem: error.problem + &because, hint: error.hint, status, untrusted }
    }
}

/// The explanation of an error by a result, as a continuation of the sentence.
fn because(because: &Because) -> String {
    match because {
        Because::Unmatched(unmatched) => format!(": {}", unmatched_words(unmatched)),
        Because::SetUp { outcome } => format!(": {}", outcome_words(outcome)),
        Because::Ended { cell, side, outcome } => format!("; {cell} on side {side}: {}", outcome_words(outcome)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal_and_is_whole_elsewhere() {
        let line = "faultline: there is no file, run or import 'nightly-of-last-week.csv'";
        assert_eq!(wrapped(line.to_owned(), None), line);
        let shown = wrapped(line.to_owned(), Some(40));
        assert_eq!(shown, "faultline: there is no file, run or\n  import 'nightly-of-last-week.csv'");
        assert_eq!(wrapped("a b\nc d".to_owned(), Some(1)), "a b\nc d");
    }
}
