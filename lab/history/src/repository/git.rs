//! Runs git, without any configuration but ours.

use crate::room;
use faultline_experiment::{Error, Lab};
use faultline_targets::Ending;
use faultline_targets::host::command::{CommandRunner, Errors, HostCommand, LONGEST_LINE_BYTES};
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time that one command may take. A checkout of a large tree on a slow disk takes minutes.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Settings of each command: nothing in the repository's files or ours is executed, and nothing is asked for.
const SETTINGS: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "advice.detachedHead=false",
];

/// Variables that keep git from the user's and the system's configuration, and from asking for a password.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C.UTF-8"),
];

/// Git, in one repository.
#[derive(Debug)]
pub(super) struct Git {
    runner: CommandRunner,
    directory: PathBuf,
    environment: Vec<(String, String)>,
}

/// Why a command of git's did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It says so; the first line that it said.
    Exited(String),
    /// A stop was requested.
    Stopped,
    /// It could not be run to its end, in words.
    Broken(String),
}

impl Failure {
    /// The error for a command that did not succeed: `exited` if it ended by itself. `what`: what it was to do.
    pub(super) fn or_exited(self, exited: impl FnOnce() -> Error, what: &str) -> Error {
        self.or_exited_saying(|_| exited(), what)
    }

    /// The same, with what git said.
    pub(super) fn or_exited_saying(self, exited: impl FnOnce(&str) -> Error, what: &str) -> Error {
        match self {
            Failure::Exited(said) => exited(&said),
            Failure::Stopped => Error::stopped(),
            Failure::Broken(why) => Error::failed(
                format!("git cannot {what}: {why}"),
                "`git --version` must work here; git 2.31 or newer is needed",
            ),
        }
    }
}

impl Git {
    /// Git in a bare repository of ours below `ours`, which is created. Fails if it cannot be written.
    pub(super) fn below(ours: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let directory = ours.join("repository");
        fs::create_dir_all(&directory).map_err(|error| super::unwritable(&directory, &error))?;
        let mut git = Self::in_theirs(&directory, lab)?;
        git.environment.push(("GIT_DIR".to_owned(), git.directory.to_string_lossy().into_owned()));
        Ok(git)
    }

    /// Git in a directory of the user's, for commands that execute nothing. Fails if the directory cannot be used.
    pub(super) fn in_theirs(directory: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let directory = directory.canonicalize().map_err(|error| {
            Error::usage(format!("cannot use {}: {error}", directory.display()), "name an existing directory")
        })?;
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Ok(Git { runner: crate::commands::runner(lab)?, directory, environment })
    }

    /// The repository's directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same git, with variables in addition.
    pub(super) fn with(&self, variables: &[(&str, &Path)]) -> Self {
        let more = variables.iter().map(|(name, value)| ((*name).to_owned(), value.to_string_lossy().into_owned()));
        Git {
            runner: self.runner.clone(),
            directory: self.directory.clone(),
            environment: self.environment.iter().cloned().chain(more).collect(),
        }
    }

    /// Runs a command that must succeed. `what`: what it is to do.
    pub(super) fn run(&self, arguments: &[&str], what: &str, lab: &Lab<'_>) -> Result<Vec<String>, Error> {
        self.lines(arguments, lab).map_err(|failure| must_succeed(failure, what))
    }

    /// The same for a command that reads a file as its standard input.
    pub(super) fn run_reading(
        &self,
        input: &Path,
        arguments: &[&str],
        what: &str,
        lab: &Lab<'_>,
    ) -> Result<Vec<String>, Error> {
        self.lines_of(arguments, Some(input), lab).map_err(|failure| must_succeed(failure, what))
    }

    /// The lines of a command's output. What is not UTF-8 is replaced.
    pub(super) fn lines(&self, arguments: &[&str], lab: &Lab<'_>) -> Result<Vec<String>, Failure> {
        self.lines_of(arguments, None, lab)
    }

    fn lines_of(&self, arguments: &[&str], input: Option<&Path>, lab: &Lab<'_>) -> Result<Vec<String>, Failure> {
        let argv: Vec<OsString> = words(arguments).collect();
        let command = HostCommand {
            argv: &argv,
            directory: &self.directory,
            environment: &self.environment,
            limit: LIMIT,
            errors: Errors::Apart,
            input,
        };
        let mut lines = Vec::new();
        let mut is_cut = false;
        let mut sink = |line: &[u8]| {
            is_cut |= line.len() > LONGEST_LINE_BYTES;
            lines.push(String::from_utf8_lossy(line).into_owned());
            ControlFlow::Continue(())
        };
        match self.runner.run(&command, &mut sink, lab.stop) {
            Ending::Exited { status: 0, .. } if is_cut => {
                Err(Failure::Broken("it prints a line of more than 64 kB".to_owned()))
            }
            Ending::Exited { status: 0, .. } => Ok(lines),
            Ending::Exited { stderr, .. } => Err(Failure::Exited(first_line(&stderr))),
            Ending::Stopped => Err(Failure::Stopped),
            Ending::TimedOut => Err(Failure::Broken(format!("it takes longer than {} minutes", LIMIT.as_secs() / 60))),
            Ending::NotStarted { text } => Err(Failure::Broken(text)),
            other => Err(Failure::Broken(format!("{other:?}"))),
        }
    }
}

/// All words of a command, from `env` on.
fn words(arguments: &[&str]) -> impl Iterator<Item = OsString> {
    let git = SETTINGS.into_iter().chain(arguments.iter().copied()).map(OsString::from);
    cleared().chain(["git".into()]).chain(git)
}

/// The error for a command that should have succeeded. `what`: what it was to do.
fn must_succeed(failure: Failure, what: &str) -> Error {
    let hint = "the commands of git that run here use its own configuration only";
    let exited = |said: &str| match room::is_told(said) {
        true => room::full(&format!("git cannot {what}: {said}")),
        false => Error::failed(format!("git cannot {what}: {said}"), hint),
    };
    failure.or_exited_saying(exited, what)
}

/// The words before `git` that take away our own variables for git: those of a hook that called us, for example.
fn cleared() -> impl Iterator<Item = OsString> {
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("GIT_"));
    let kept = ours.filter(|name| !ENVIRONMENT.iter().any(|(own, _)| *name == **own));
    std::iter::once("env".into()).chain(kept.flat_map(|name| [OsString::from("-u"), name]))
}

fn first_line(stderr: &str) -> String {
    let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it fails without a message");
    line.trim().trim_start_matches("fatal: ").trim_start_matches("error: ").chars().map(shown).collect()
}

/// A character of git's messages. Quotes stay as they are; what does not print is escaped.
fn shown(character: char) -> String {
    match character {
        '"' | '\'' => character.to_string(),
        other => other.escape_debug().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_git_keep_their_quotes_and_write_nothing_that_a_terminal_obeys() {
        let said = "\nfatal: ambiguous argument 'x\u{1b}[31m\u{202e}y': \"unknown\"\nmore\n";
        assert_eq!(first_line(said), "ambiguous argument 'x\\u{1b}[31m\\u{202e}y': \"unknown\"");
        assert_eq!(first_line(" \n"), "it fails without a message");
    }
}
