//! Splits what a user wrote into words, as a shell does. Nothing is executed or replaced.

use crate::error::Error;

/// The words of `text`, perhaps none. `what`: its name for messages, with an article. Fails if a quote is not closed.
pub(crate) fn words(what: &str, text: &str) -> Result<Vec<String>, Error> {
    shell_words::split(text).map_err(|error| {
        Error::usage(format!("cannot split {what} '{text}' into words: {error}"), "quote it as for a shell")
    })
}

/// The words of a command, at least one. `if_empty`: the hint if there is none. Fails if there is none, or if a quote is not closed.
pub fn command_words(text: &str, if_empty: &str) -> Result<Vec<String>, Error> {
    let words = words("the command", text)?;
    if words.is_empty() { Err(Error::usage("the command is empty", if_empty)) } else { Ok(words) }
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
