//! Runs git without any configuration except ours.

use super::unwritable;
use crate::tools;
use faultline_experiment::{Error, Lab};
use faultline_targets::host::command::{CommandRunner, Errors, HostCommand, LONGEST_LINE_BYTES};
use faultline_targets::{Ending, search_path};
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit of one command. Checking out a large tree on a slow disk takes minutes.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Settings of each command: execute nothing from a repository, and ask nothing.
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

/// Variables that hide the configuration of user and system, and forbid asking for a password.
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

/// Failure of a git command.
#[derive(Debug)]
pub(super) enum Failure {
    /// Exited with a failure status: the first line of its message.
    Exited(String),
    /// A stop was requested.
    Stopped,
    /// The lab failed: the cause.
    Lab(String),
    /// Could not be run to its end, in words.
    Broken(String),
}

impl Failure {
    /// The error for a failed command: `exited` if it ended by itself. `what`: its purpose.
    pub(super) fn or_exited(self, exited: impl FnOnce() -> Error, what: &str) -> Error {
        self.or_exited_saying(|_| exited(), what)
    }

    /// As above, with git's message.
    pub(super) fn or_exited_saying(self, exited: impl FnOnce(&str) -> Error, what: &str) -> Error {
        match self {
            Failure::Exited(said) => exited(&said),
            Failure::Stopped => Error::stopped(),
            Failure::Lab(why) => tools::lab_failed(format!("git cannot {what}: {why}")),
            Failure::Broken(why) => Error::failed(
                format!("git cannot {what}: {why}"),
                "install git 2.31 or newer, for example with `apt-get install git`; `git --version` shows it",
            ),
        }
    }
}

impl Git {
    /// Git in our bare repository below `ours`, which is created. Fails if it cannot be written.
    pub(super) fn below(ours: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        let directory = ours.join("repository");
        fs::create_dir_all(&directory).map_err(|error| unwritable(&directory, &error))?;
        let mut git = Self::in_theirs(&directory, lab)?;
        git.environment.push(("GIT_DIR".to_owned(), git.directory.to_string_lossy().into_owned()));
        Ok(git)
    }

    /// Git in a directory of the user, for commands that execute nothing. Fails if the directory
    /// cannot be used, or if there is no git.
    pub(super) fn in_theirs(directory: &Path, lab: &Lab<'_>) -> Result<Self, Error> {
        search_path::program_file("git", Path::new("/"), None).map_err(|missing| {
            Error::failed(missing.problem, "install git 2.31 or newer, for example with `apt-get install git`")
        })?;
        let directory = directory.canonicalize().map_err(|error| {
            Error::usage(format!("cannot use {}: {error}", directory.display()), "name an existing directory")
        })?;
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Ok(Git { runner: crate::tools::runner(lab)?, directory, environment })
    }

    /// Directory of the repository.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds environment variables.
    pub(super) fn with(&self, variables: &[(&str, &Path)]) -> Self {
        let more = variables.iter().map(|(name, value)| ((*name).to_owned(), value.to_string_lossy().into_owned()));
        Git {
            runner: self.runner.clone(),
            directory: self.directory.clone(),
            environment: self.environment.iter().cloned().chain(more).collect(),
        }
    }

    /// Uses the user's configuration, which may trust repositories of other users.
    pub(super) fn with_users_configuration(mut self) -> Self {
        self.environment.retain(|(name, _)| !["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"].contains(&name.as_str()));
        self
    }

    /// Trusts these directories, although they may belong to another user. Fails if our
    /// configuration cannot be written.
    pub(super) fn trusting(mut self, directories: &[&Path]) -> Result<Self, Error> {
        let file = self.directory.with_file_name("gitconfig");
        let quoted = |path: &&Path| path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let lines = directories.iter().map(|path| format!("\tdirectory = \"{}\"\n", quoted(path)));
        fs::write(&file, format!("[safe]\n{}", lines.collect::<String>()))
            .map_err(|error| unwritable(&file, &error))?;
        for (_, value) in self.environment.iter_mut().filter(|(name, _)| name == "GIT_CONFIG_GLOBAL") {
            *value = file.to_string_lossy().into_owned();
        }
        Ok(self)
    }

    /// Runs a command that must succeed. `what`: its purpose.
    pub(super) fn run(&self, arguments: &[&str], what: &str, lab: &Lab<'_>) -> Result<Vec<String>, Error> {
        self.lines(arguments, lab).map_err(|failure| must_succeed(failure, what))
    }

    /// As [`Git::run`], with a file as standard input.
    pub(super) fn run_reading(
        &self,
        input: &Path,
        arguments: &[&str],
        what: &str,
        lab: &Lab<'_>,
    ) -> Result<Vec<String>, Error> {
        self.lines_of(arguments, Some(input), lab).map_err(|failure| must_succeed(failure, what))
    }

    /// Output lines of a command. Invalid UTF-8 is replaced.
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
            sandbox: None,
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
            Ending::LabFailed { text } | Ending::AfterLack { text, .. } => Err(Failure::Lab(text)),
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

/// The error for a command that must succeed. `what`: its purpose.
pub(super) fn must_succeed(failure: Failure, what: &str) -> Error {
    let hint = "the commands of git that run here use its own configuration only";
    let exited = |said: &str| Error::failed(format!("git cannot {what}: {said}"), hint);
    failure.or_exited_saying(exited, what)
}

/// Words before `git` that unset our own git variables, for example those of a calling hook.
fn cleared() -> impl Iterator<Item = OsString> {
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("GIT_"));
    let kept = ours.filter(|name| !ENVIRONMENT.iter().any(|(own, _)| *name == **own));
    std::iter::once("env".into()).chain(kept.flat_map(|name| [OsString::from("-u"), name]))
}

fn first_line(stderr: &str) -> String {
    let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a message");
    line.trim().trim_start_matches("fatal: ").trim_start_matches("error: ").chars().map(shown).collect()
}

/// A character of git's messages, escaped if it is not printable. Quotes stay.
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
        assert_eq!(first_line(" \n"), "it failed without a message");
    }
}
