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
/// none, if a quote is not closed, or if it means something else in a shell.
pub fn command_words(text: &str, if_empty: &str) -> Result<Vec<String>, Error> {
    let words = words_without_shell("the command", text, SHELL_IN_WORDS)?;
    if words.is_empty() { Err(Error::usage("the command is empty", if_empty)) } else { Ok(words) }
}

/// A hint for commands whose words can name a shell.
pub(crate) const SHELL_IN_WORDS: &str = "`sh -c '…'` runs a shell";
/// A hint where the option exists.
pub(crate) const SHELL_BY_OPTION: &str = "`--shell` runs commands by a shell";

/// As `words`, for a command that runs without a shell. Fails if it means something else in a
/// shell: `rm -f cache/*` would remove nothing, and the result would be of another experiment.
pub(crate) fn words_without_shell(what: &str, text: &str, way_to_a_shell: &str) -> Result<Vec<String>, Error> {
    let words = words(what, text)?;
    match meant_for_a_shell(text) {
        None => Ok(words),
        Some(sign) => Err(Error::usage(
            format!("{what} '{text}' needs a shell for its {sign:?}, and runs without one"),
            format!("{way_to_a_shell}; quote {sign:?} if it belongs to an argument"),
        )),
    }
}

/// The first character of a text that a shell would not take as part of a word: an operator,
/// expansion or pattern outside of quotes.
fn meant_for_a_shell(text: &str) -> Option<char> {
    let mut quote = None;
    let mut before = ' ';
    let mut characters = text.trim().chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None | Some('"'), '\\') => {
                characters.next();
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), closing) if open == closing => quote = None,
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '$' | '*' | '?' | '\n') => return Some(character),
            (None, '~') if before.is_whitespace() => return Some(character),
            _ => {}
        }
        before = character;
    }
    None
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
    let [a, b] = what else { return results_or_one_command(what, places) };
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

/// The meaning of another number of words. Fails for one command; a program's file is refused as a
/// file.
fn results_or_one_command(what: &[String], places: &Places) -> Result<ResultsOrCommands, Error> {
    let [only] = what else { return Ok(ResultsOrCommands::Results) };
    match word(only, places)? {
        Word::Command(_) if !Path::new(only).exists() => Err(Error::usage(
            format!("'{only}' is a command, and there is no second one"),
            "`faultline compare './old ARGS' './new ARGS'` compares two commands",
        )),
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
    let words = match words_without_shell("the command", text, SHELL_BY_OPTION) {
        Ok(words) => words,
        Err(error) if looks_like_command(text) => return Err(error),
        Err(_) => return Ok(Word::Result),
    };
    let Some(first) = words.first() else {
        return Ok(Word::Unknown(Error::usage("it is empty", "name a command or a result")));
    };
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

    #[test]
    fn a_command_that_needs_a_shell_is_refused() {
        let refused = |text: &str| command_words(text, "").map_err(|error| error.problem);
        for (text, sign) in [
            ("./x | wc", '|'),
            ("rm -rf cache; mkdir cache", ';'),
            ("make && strip prog", '&'),
            ("./x >out", '>'),
            ("rm -f cache/*", '*'),
            ("./x $HOME", '$'),
            ("./x ~/data", '~'),
            ("make\nmake install", '\n'),
        ] {
            let expected = format!("the command '{text}' needs a shell for its {sign:?}, and runs without one");
            assert_eq!(refused(text), Err(expected), "{text}");
        }
        for text in ["sh -c 'a | b; c > $d'", "grep \"a*|b\" file~", "x a\\;b", "make CFLAGS=-DX=1 -j{tasks}", " x\n"] {
            assert!(refused(text).is_ok(), "{text}: {:?}", refused(text));
        }
    }
}
