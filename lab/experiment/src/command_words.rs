//! Words of a command or comparison, split like a shell does without executing or expanding
//! anything. The two words of a comparison are names of existing results, or commands to measure
//! now.

use crate::error::Error;
use crate::operand;
use crate::places::Places;
use faultline_record::machine::Machine;
use faultline_record::setup::Setup;
use faultline_record::subject::Subject;
use faultline_targets::search_path::{is_executable, program_file};
use std::path::Path;

/// The words of `text`, possibly none. `what`: its name in messages, with an article. Fails if a
/// quote is not closed.
pub(crate) fn words(what: &str, text: &str) -> Result<Vec<String>, Error> {
    shell_words::split(text).map_err(|error| {
        Error::usage(format!("cannot split {what} '{text}' into words: {error}"), "quote it as for a shell")
    })
}

/// The words of a command, at least one. `if_empty`: the hint if there is none. Fails if there is
/// none, or if a quote is not closed.
pub fn command_words(text: &str, if_empty: &str) -> Result<Vec<String>, Error> {
    let words = words("the command", text)?;
    if words.is_empty() { Err(Error::usage("the command is empty", if_empty)) } else { Ok(words) }
}

/// The request in the words of a comparison.
#[derive(Debug, PartialEq)]
pub enum ResultsOrCommands {
    /// Existing results: runs, files, imports. Also unknown words; the code that looks for results
    /// reports them.
    Results,
    /// Two commands to be measured now.
    Commands(Box<[Subject; 2]>),
}

/// The meaning of one word.
enum Word {
    Result,
    Command(Vec<String>),
    /// Neither; the reason why it is not a command.
    Unknown(Error),
}

/// The meaning of both words. Results take precedence over commands with the same name. Fails if
/// one word is a command and the other is not.
pub fn results_or_commands(what: &[String], places: &Places) -> Result<ResultsOrCommands, Error> {
    let [a, b] = what else { return Ok(ResultsOrCommands::Results) };
    match (word(a, places)?, word(b, places)?) {
        (Word::Command(first), Word::Command(second)) => {
            Ok(ResultsOrCommands::Commands(Box::new([side(a, first), side(b, second)])))
        }
        (Word::Command(_), Word::Result) => Err(mixed(a, b)),
        (Word::Result, Word::Command(_)) => Err(mixed(b, a)),
        (Word::Command(_), Word::Unknown(why)) => Err(neither(b, why)),
        (Word::Unknown(why), Word::Command(_)) => Err(neither(a, why)),
        (Word::Unknown(why), _) if looks_like_command(a) => Err(neither(a, why)),
        (_, Word::Unknown(why)) if looks_like_command(b) => Err(neither(b, why)),
        _ => Ok(ResultsOrCommands::Results),
    }
}

fn side(text: &str, command: Vec<String>) -> Subject {
    Subject::on(text.trim().to_owned(), Machine::Host, Setup { command, ..Setup::default() })
}

fn word(text: &str, places: &Places) -> Result<Word, Error> {
    let path = Path::new(text);
    if path.exists() {
        let is_program = path.is_file() && is_executable(path) && !operand::is_known_format(path);
        // Without a slash, the command would be searched for in PATH.
        let command = || if text.contains('/') { text.to_owned() } else { format!("./{text}") };
        return Ok(if is_program { Word::Command(vec![command()]) } else { Word::Result });
    }
    if operand::names_something(text, places)? {
        return Ok(Word::Result);
    }
    let words = words("the command", text).unwrap_or_default();
    let Some(first) = words.first() else { return Ok(Word::Result) };
    Ok(match program_file(first, Path::new("."), None) {
        Ok(_) => Word::Command(words),
        Err(error) => Word::Unknown(Error::target_as_usage(error)),
    })
}

/// True if the text means a command rather than the name of results.
fn looks_like_command(text: &str) -> bool {
    text.trim().contains(' ') || text.starts_with("./") || text.starts_with("../")
}

fn mixed(command: &str, result: &str) -> Error {
    Error::usage(
        format!("'{command}' is a command, but '{result}' is a run, file or import"),
        "compare two commands, or two runs or files",
    )
}

fn neither(text: &str, why: Error) -> Error {
    Error::usage(
        format!("'{text}' is neither a run, file or import nor a command: {why}"),
        "`faultline list` shows the runs; `faultline compare './old ARGS' './new ARGS'` compares two commands",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_words() {
        assert_eq!(command_words("./x 'a b' c\\ d", "").unwrap(), ["./x", "a b", "c d"]);
        let empty = command_words(" ", "name one").unwrap_err();
        assert_eq!((empty.problem.as_str(), empty.hint.as_deref()), ("the command is empty", Some("name one")));
        assert!(command_words("'x", "").unwrap_err().problem.starts_with("cannot split the command ''x' into words: "));
        assert_eq!(words("the variant", "").unwrap(), Vec::<String>::new());
    }
}
