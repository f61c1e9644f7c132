//! Commands that a user gives to be measured, with set-up, preparation and warm-up.

use crate::command_words::{SHELL_BY_OPTION, words_without_shell};
use crate::error::{Because, Error};
use crate::lab::{Lab, Notice};
use crate::sides;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::setup::Setup;
use faultline_record::subject::Subject;
use faultline_runner::{Completion, PlannedRun, set_up, warm_up};
use faultline_targets::search_path::is_executable;
use std::path::Path;

/// Set-up, preparation and warm-up of a command, and the way in which they run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Around {
    /// Runs all commands by `/bin/sh -c`. Otherwise they are split into words, and no shell runs.
    pub shell: bool,
    /// A command that runs before each execution and is not measured.
    pub prepare: Option<String>,
    /// A command that runs once, before everything else.
    pub set_up: Option<String>,
    /// Number of executions before the first one that counts.
    pub warmup: u32,
}

impl Around {
    /// The option that a user gave first, if any.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            ("--shell", self.shell),
            ("--prepare", self.prepare.is_some()),
            ("--setup", self.set_up.is_some()),
            ("--warmup", self.warmup > 0),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// The subject that runs a command: one text, or its words. Fails for an empty command or an
    /// open quote.
    pub fn command(&self, given: &[String]) -> Result<Subject, Error> {
        let name = given.join(" ").trim().to_owned();
        let command = match given {
            _ if self.shell => self.words("the command", &name)?,
            [only] => words_of_one(only)?,
            several => several.to_vec(),
        };
        if name.is_empty() || command.is_empty() {
            return Err(Error::usage("the command is empty", "for example `faultline run -- ./prog 1000`"));
        }
        let mut subject = Subject::on(name, Machine::Host, Setup { command, ..Setup::default() });
        self.surround(&mut subject)?;
        Ok(subject)
    }

    /// Adds the set-up, preparation and warm-up to a subject. Fails if it runs no command.
    pub fn surround(&self, subject: &mut Subject) -> Result<(), Error> {
        let setup = &mut subject.setup;
        if let Some(option) = self.given().filter(|_| setup.command.is_empty()) {
            return Err(Error::usage(
                format!("{option} belongs to a command, and '{}' is none", subject.name),
                "give a command to measure: './prog 1000'",
            ));
        }
        if let Some(prepare) = &self.prepare {
            setup.prepare = self.words("the command of --prepare", prepare)?;
        }
        if let Some(set_up) = &self.set_up {
            setup.set_up = self.words("the command of --setup", set_up)?;
        }
        if self.warmup > 0 {
            setup.warmup = self.warmup;
        }
        Ok(())
    }

    /// The words of a command, at least one. `what`: its name in messages.
    fn words(&self, what: &str, text: &str) -> Result<Vec<String>, Error> {
        let words =
            if self.shell { vec![text.trim().to_owned()] } else { words_without_shell(what, text, SHELL_BY_OPTION)? };
        match words.first().is_none_or(String::is_empty) {
            true => Err(Error::usage(format!("{what} is empty"), "for example `--prepare 'rm -rf cache'`")),
            false if self.shell => Ok(["/bin/sh", "-c", text.trim()].map(str::to_owned).to_vec()),
            false => Ok(words),
        }
    }
}

/// The words of a command that is one text. A file with that name takes precedence, also one with
/// spaces.
fn words_of_one(text: &str) -> Result<Vec<String>, Error> {
    let path = Path::new(text);
    match path.is_file() && is_executable(path) {
        true if text.contains('/') => Ok(vec![text.to_owned()]),
        true => Ok(vec![format!("./{text}")]),
        false => words_without_shell("the command", text, SHELL_BY_OPTION),
    }
}

/// Runs each set-up command of the subjects once, then the warm-up of each cell. Nothing of it is
/// saved. Fails if a set-up command fails, if it leaves no program to execute, or if the lab does.
pub(crate) fn before_the_first(run: &PlannedRun<'_>, lab: &mut Lab<'_>) -> Result<(), Error> {
    let mut ended: Vec<&Setup> = Vec::new();
    for (at, subject) in run.subjects.iter().enumerate() {
        let Some(first) = run.items.iter().find(|item| item.subject.at() == at) else { continue };
        let setup = &subject.setup;
        let is_same = |other: &&Setup| {
            (&other.set_up, &other.environment, &other.directory)
                == (&setup.set_up, &setup.environment, &setup.directory)
        };
        if setup.set_up.is_empty() || ended.iter().any(is_same) {
            continue;
        }
        lab.observer.notice(&Notice::SettingUp { command: setup.set_up.join(" ") });
        let outcome = set_up(run, first, lab.stop)?;
        check_lab(&outcome, run)?;
        if outcome != Outcome::Done {
            return Err(setup_failed(outcome, run));
        }
        ended.push(setup);
    }
    for subject in run.subjects.iter().filter(|subject| !subject.setup.set_up.is_empty()) {
        sides::check_program(&subject.setup)?;
    }
    warm_up_all(run, lab)
}

/// Executes each cell of each subject as often as its warm-up says, but no more after a failure,
/// which the measured executions repeat and record.
fn warm_up_all(run: &PlannedRun<'_>, lab: &mut Lab<'_>) -> Result<(), Error> {
    let mut cells = Vec::new();
    for item in run.items {
        let executions = run.subjects.get(item.subject.at()).map_or(0, |subject| subject.setup.warmup);
        if executions == 0 || cells.contains(&(item.subject, &item.cell)) {
            continue;
        }
        if cells.is_empty() {
            lab.observer.notice(&Notice::WarmingUp { executions });
        }
        cells.push((item.subject, &item.cell));
        for _ in 0..executions {
            let outcome = warm_up(run, item, lab.stop)?;
            check_lab(&outcome, run)?;
            if outcome != Outcome::Done {
                break;
            }
        }
    }
    Ok(())
}

/// True if an earlier session measured a part of the run: its first item is not missing.
fn is_begun(run: &PlannedRun<'_>) -> bool {
    run.items.iter().all(|item| item.ordinal > 0)
}

/// Fails for outcomes that are no result of the command.
fn check_lab(outcome: &Outcome, run: &PlannedRun<'_>) -> Result<(), Error> {
    let is_begun = is_begun(run);
    let hint = match is_begun {
        true => "remove the cause; everything measured is saved, and `faultline resume` continues",
        false => "nothing was measured yet; remove the cause and start it again",
    };
    match Completion::after(outcome) {
        None | Some(Completion::Finished | Completion::BudgetUsed(_) | Completion::EndedAtFailure(_)) => Ok(()),
        Some(Completion::Stopped) => {
            let hint = is_begun.then(|| "everything measured is saved, and `faultline resume` continues".to_owned());
            Err(Error { hint, ..Error::stopped() })
        }
        Some(Completion::LabFailed(text) | Completion::LeftChanged(text) | Completion::ConnectionLost(text)) => {
            Err(Error::failed(text, hint))
        }
    }
}

fn setup_failed(outcome: Outcome, run: &PlannedRun<'_>) -> Error {
    let hint = match is_begun(run) {
        true => "everything measured is saved; `faultline resume` continues when the command of --setup succeeds",
        false => "nothing was measured; the command of --setup must succeed once before the first execution",
    };
    match outcome {
        Outcome::Failed { text, .. } => Error::usage(format!("the setup failed: {text}"), hint),
        outcome => Error::usage("the setup failed", hint).because([Because::SetUp { outcome }]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_command_is_one_text_or_its_words() {
        let words = |words: &[&str]| Around::default().command(&given(words)).map(|subject| subject.setup.command);
        assert_eq!(words(&["./prog 'a b' 1"]).unwrap(), ["./prog", "a b", "1"]);
        assert_eq!(words(&["./prog", "a b", "1"]).unwrap(), ["./prog", "a b", "1"]);
        assert_eq!(words(&[" "]).unwrap_err().problem, "the command is empty");
        assert!(words(&["'x"]).unwrap_err().problem.starts_with("cannot split the command"));
    }

    #[test]
    fn a_shell_gets_texts_as_they_are() {
        let around = Around { shell: true, prepare: Some("rm -f $X".to_owned()), ..Around::default() };
        let subject = around.command(&given(&["seq 9", "| wc"])).unwrap();
        assert_eq!(subject.name, "seq 9 | wc");
        assert_eq!(subject.setup.command, ["/bin/sh", "-c", "seq 9 | wc"]);
        assert_eq!(subject.setup.prepare, ["/bin/sh", "-c", "rm -f $X"]);
    }

    #[test]
    fn only_commands_have_something_around_them() {
        let around = Around { warmup: 3, ..Around::default() };
        let mut plain = Subject::as_is(Machine::Host);
        let refused = around.surround(&mut plain).unwrap_err().problem;
        assert_eq!(refused, "--warmup belongs to a command, and 'host' is none");
        assert_eq!(Around::default().surround(&mut plain), Ok(()));
        let empty = Around { prepare: Some(" ".to_owned()), ..Around::default() };
        assert_eq!(empty.command(&given(&["x"])).unwrap_err().problem, "the command of --prepare is empty");
    }
}
