//! Text of files: decoding, and pieces of it in messages.

use crate::error::ReadError;

/// The text of a file, without a byte order mark. `name` is for the message.
pub(crate) fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    if is_utf16(bytes) {
        return Err(ReadError::Utf16 { file: name.to_owned() });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        ReadError::new(name, line, format!("the byte 0x{:02x}", bytes[error.valid_up_to()]), "UTF-8 text")
    })
}

/// Whether these bytes begin with the byte order mark of UTF-16, of either order.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// A piece of a file in quotes, on one line and not long.
pub(crate) fn quoted(piece: &str) -> String {
    const SHOWN: usize = 60;
    let shown: String = piece.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let more = if piece.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("'{shown}{more}'")
}

/// The lines that have something on them, with their numbers from 1.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.trim_end())).filter(|(_, line)| !line.is_empty())
}

/// `text` with each character that isn't wanted replaced; never empty.
pub(crate) fn with_only(text: &str, wanted: impl Fn(char) -> bool, instead: char) -> String {
    if text.is_empty() {
        return "unnamed".to_owned();
    }
    text.chars().map(|c| if wanted(c) { c } else { instead }).collect()
}

/// `text` without control characters, nor blanks at its ends; perhaps empty.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ").trim().to_owned()
}

/// `text` as one word: as the OpenBSD lab and Go write names.
pub(crate) fn word(text: &str) -> String {
    with_only(text, |c| !c.is_whitespace() && !c.is_control(), '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_on_its_line() {
        let error = decode("a.csv", b"one\ntwo\n\xff\n").unwrap_err().to_string();
        assert_eq!(error, "a.csv:3: found the byte 0xff, expected UTF-8 text");
        assert_eq!(decode("a.csv", b"\xef\xbb\xbfone"), Ok("one"));
        assert_eq!(decode("a.csv", b"\xff\xfeo\0").unwrap_err().to_string(), "a.csv: UTF-16 text, expected UTF-8");
    }

    #[test]
    fn a_long_piece_is_cut() {
        assert_eq!(quoted("a\tb"), "'a\\tb'");
        assert_eq!(quoted(&"x".repeat(100)), format!("'{}…'", "x".repeat(60)));
    }
}
