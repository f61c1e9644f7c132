//! `faultline trust`, and the question before the first use of a `faultline.toml`.

use super::measuring::places;
use crate::arguments::Global;
use crate::arguments::stored::Trust;
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::settings_file::{self, USUAL_FILE};
use faultline_experiment::{DeclaredEffect, declared_effects};
use faultline_report::escape::one_line;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A file as the user sees it before trusting it.
struct Seen {
    file: PathBuf,
    text: String,
    /// The text of the list of its effects.
    list: String,
}

impl Seen {
    /// Reads a file. Fails if it cannot be read, belongs to another user, or is not TOML.
    fn read(file: &Path) -> Result<Self, Failure> {
        let text = settings_file::read(file).map_err(|error| {
            Failure::usage(format!("cannot read {}: {error}", file.display()), "name a file like faultline.toml")
        })?;
        let list = list(&file.display().to_string(), &declared_effects(&text, file)?);
        Ok(Seen { file: file.to_owned(), text, list })
    }
}

/// The effects of a file, each in one line. The file is untrusted, so characters that could hide or
/// reorder text are replaced.
fn list(file: &str, effects: &[DeclaredEffect]) -> String {
    if effects.is_empty() {
        return format!("{} executes nothing.\n", one_line(file));
    }
    let mut text = format!("{} declares what is executed or used:\n\n", one_line(file));
    for DeclaredEffect { key, value, effect } in effects {
        let effect = if effect.is_empty() { String::new() } else { format!("    # {effect}") };
        text.push_str(&format!("  {}{effect}\n", one_line(&format!("{key} = {value}"))));
    }
    text
}

pub(crate) fn trust(arguments: &Trust, global: &Global) -> Result<ExitCode, Failure> {
    let file = arguments.file.clone().or_else(|| settings_file::nearest(Path::new("."))).ok_or_else(|| {
        Failure::usage(
            format!("there is no {USUAL_FILE} here, nor above within the repository"),
            "`faultline trust FILE` takes another file",
        )
    })?;
    let seen = Seen::read(&file)?;
    let consent = places(global)?.consent;
    output::print(&seen.list)?;
    if consent.is_listed(&seen.file, &seen.text) {
        failure::warn(&format!("{} is trusted already", file.display()));
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes && !can_ask() {
        return Err(Failure::usage(
            "`faultline trust` asks first, and this is not a terminal",
            "`--yes` trusts without asking",
        ));
    }
    if !arguments.yes && !is_confirmed()? {
        failure::warn(&"not trusted");
        return Ok(failure::some_failed());
    }
    consent.add(&seen.file, &seen.text)?;
    failure::warn(&format!("{} is trusted until it changes", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal whether to trust a file that a command needs. False without a terminal.
/// Fails if the file cannot be read, or the answer cannot be saved.
pub(crate) fn is_accepted(file: &Path, global: &Global) -> Result<bool, Failure> {
    if !can_ask() {
        return Ok(false);
    }
    let seen = Seen::read(file)?;
    failure::warn(&seen.list);
    let accepted = is_confirmed()?;
    if accepted {
        places(global)?.consent.add(&seen.file, &seen.text)?;
    }
    Ok(accepted)
}

/// True if the question can be seen and answered. Standard output may be redirected.
fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn is_confirmed() -> Result<bool, Failure> {
    let asked = ask(&mut std::io::stdin().lock(), &mut std::io::stderr());
    asked.map_err(|error| {
        Failure::new(format!("cannot read the answer: {error}"), "`faultline trust --yes` asks nothing")
    })
}

/// Asks, and reads the answer. Anything but a yes is a no, and so is the end of input.
fn ask(input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<bool> {
    write!(output, "Trust this file? [y/N] ")?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let answer = |text: &str| {
            let mut asked = Vec::new();
            let is_yes = ask(&mut text.as_bytes(), &mut asked).unwrap();
            assert_eq!(asked, b"Trust this file? [y/N] ");
            is_yes
        };
        assert_eq!(["y\n", "YES\n", " yes "].map(answer), [true; 3]);
        assert_eq!(["", "\n", "n\n", "yess\n", "no\ny\n"].map(answer), [false; 5]);
    }

    #[test]
    fn the_list_has_a_line_for_each_effect_and_obeys_nothing() {
        let hostile = DeclaredEffect {
            key: "subject.a.build".to_owned(),
            value: "\"make\u{202e} \u{1b}[2K\n\"".to_owned(),
            effect: "builds",
        };
        let shown = list("a\u{1b}.toml", &[hostile]);
        assert_eq!(
            shown,
            "a .toml declares what is executed or used:\n\n  subject.a.build = \"make\u{fffd}  [2K \"    # builds\n"
        );
        assert_eq!(list("a.toml", &[]), "a.toml executes nothing.\n");
    }
}
