//! JSON: errors with positions, objects in their order, and numbers that are not finite.

use crate::error::ReadError;
use crate::files::File;
use crate::gather::check_parts;
use crate::text::quoted;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Parses a JSON file. `what` names the expected content in messages: `hyperfine's JSON`.
pub(crate) fn parse<T: DeserializeOwned>(file: File<'_>, what: &str) -> Result<T, ReadError> {
    check_parts(file)?;
    parse_text(file.name, file.text, what)
}

/// As [`parse`], but accepts `NaN` and `Infinity`, which [`Number`] reads.
pub(crate) fn parse_with_nan<T: DeserializeOwned>(file: File<'_>, what: &str) -> Result<T, ReadError> {
    check_parts(file)?;
    match with_nan_in_quotes(file.text) {
        Cow::Borrowed(text) => parse_text(file.name, text, what),
        // The added quotes shift columns.
        Cow::Owned(text) => parse_text(file.name, &text, what).map_err(ReadError::without_column),
    }
}

/// Parses one line of a file with one JSON value per line.
pub(crate) fn parse_line<T: DeserializeOwned>(name: &str, line: u64, text: &str, what: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| in_words(name, line, text, &error, what))
}

fn parse_text<T: DeserializeOwned>(name: &str, text: &str, what: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| {
        let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
        in_words(name, error.line() as u64, line, &error, what)
    })
}

/// Converts an error of the JSON parser at `line`, which holds `text`. `what`: the expected JSON.
fn in_words(name: &str, line: u64, text: &str, error: &serde_json::Error, what: &str) -> ReadError {
    let line = Some(line).filter(|line| *line > 0);
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let mismatch = message.strip_prefix("invalid type: ").unwrap_or(message).rsplit_once(", expected ");
    let (found, expected) = if error.is_eof() {
        ("the end of the file within a value".to_owned(), format!("the rest of {what}"))
    } else if let Some((found, expected)) = mismatch {
        (shortened(found), format!("{} in {what}", kind_in_words(expected)))
    } else if message.starts_with("data did not match any variant") {
        ("a value of another kind".to_owned(), what.to_owned())
    } else if error.is_syntax() && message.starts_with("expected ") {
        (quoted(word_at(text, error.column())), format!("{what} ({message})"))
    } else {
        (format!("an error in JSON ({})", shortened(message)), what.to_owned())
    };
    ReadError::new(name, line, found, expected).at_column(error.column() as u64)
}

/// The text at a column of a line, up to the next blank or the end of the value.
fn word_at(line: &str, column: usize) -> &str {
    let rest = column.checked_sub(1).and_then(|at| line.get(at..)).unwrap_or_default();
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let end =
        rest[first..].find(|c: char| c.is_whitespace() || ",:]}".contains(c)).map_or(rest.len(), |end| first + end);
    &rest[..end]
}

/// The expected kind of value. The parser names Rust types.
fn kind_in_words(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "u32" | "u64" => "a whole number that is not negative",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

/// Shortens what the parser quotes from the file.
fn shortened(message: &str) -> String {
    const SHOWN: usize = 120;
    match message.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// Pretty-printed JSON with a final line break.
pub(crate) fn text(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("maps have keys of text, and numbers are finite");
    text.push('\n');
    text
}

/// JSON on one line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("maps have keys of text, and numbers are finite")
}

/// Quotes the bare words `NaN` and `Infinity` that Python and Ruby write. Line numbers do not
/// change.
fn with_nan_in_quotes(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 4] = ["NaN", "-NaN", "-Infinity", "Infinity"];
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        quoted.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = if rest.starts_with('"') {
            let taken = string_length(rest);
            quoted.push_str(&rest[..taken]);
            taken
        } else if let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            quoted.extend(["\"", word, "\""]);
            word.len()
        } else {
            quoted.push_str(&rest[..1]);
            1
        };
        rest = &rest[taken..];
    }
    quoted.push_str(rest);
    Cow::Owned(quoted)
}

/// Length in bytes of the JSON string at the start of `text`, with its quotes; all of `text` if it
/// does not end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The text after the first member's name, if `text` begins an object.
pub(crate) fn after_first_name(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix('{')?.trim_start();
    let name = rest.starts_with('"').then(|| string_length(rest))?;
    Some(rest[name..].trim_start().strip_prefix(':')?.trim_start())
}

/// A number that may be `NaN` or infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl Number {
    pub(crate) fn finite(self) -> Option<f64> {
        Some(self.0).filter(|value| value.is_finite())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl Visitor<'_> for Numbers {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Number, E> {
                match word {
                    "NaN" | "-NaN" => Ok(Number(f64::NAN)),
                    "Infinity" => Ok(Number(f64::INFINITY)),
                    "-Infinity" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_type(serde::de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

/// An object's members in their order. Names may repeat.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Members<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Objects<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<T>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Objects(PhantomData))
    }
}

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Result<Vec<Number>, ReadError> {
        parse_with_nan(File { name: "a.json", text }, "numbers")
    }

    #[test]
    fn numbers_that_are_none_are_read_where_they_stand_bare() {
        let read = numbers("[1, NaN, -Infinity, Infinity, -2.5]").unwrap();
        assert_eq!(read[0], Number(1.0));
        assert!(read[1].0.is_nan());
        assert_eq!(read[2..], [Number(f64::NEG_INFINITY), Number(f64::INFINITY), Number(-2.5)]);
        assert_eq!(with_nan_in_quotes(r#"{"a\"NaN": "NaN-", "b": NaN}"#), r#"{"a\"NaN": "NaN-", "b": "NaN"}"#);
        assert_eq!(with_nan_in_quotes(r#"["NaN, -"#), r#"["NaN, -"#);
    }

    #[test]
    fn an_error_has_its_line() {
        let error = numbers("[1,\n2,\ntrue]").unwrap_err().to_string();
        assert_eq!(error, "a.json:3:4: found boolean `true`, expected a number in numbers");
        let error = numbers("[1,\n").unwrap_err().to_string();
        assert_eq!(error, "a.json:2: found the end of the file within a value, expected the rest of numbers");
        let file = File { name: "a.json", text: "{\"a\": [1,\n 2, NaN]}" };
        let error = parse::<Members<Vec<f64>>>(file, "numbers").unwrap_err().to_string();
        assert_eq!(error, "a.json:2:5: found 'NaN', expected numbers (expected value)");
        let error = numbers(&"[".repeat(10_000)).unwrap_err().to_string();
        assert!(error.contains("expected"), "{error}");
    }

    #[test]
    fn members_keep_their_order() {
        let file = File { name: "a.json", text: r#"{"b": 1, "a": 2, "b": 3}"# };
        let members: Members<u8> = parse(file, "members").unwrap();
        assert_eq!(members.0, [("b".to_owned(), 1), ("a".to_owned(), 2), ("b".to_owned(), 3)]);
    }
}
