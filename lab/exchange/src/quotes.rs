//! Quotes of a CSV file. The parser takes everything after an unclosed quote as one cell, which
//! would swallow rows.

use crate::error::ReadError;
use crate::files::File;

/// Fails if a quote is not closed: if its cell goes on to the end of the file, or over several
/// lines to a quote with text behind it, which opens another cell.
pub(crate) fn check_quotes(file: File<'_>, separator: u8) -> Result<(), ReadError> {
    match unclosed(file.text.as_bytes(), separator) {
        None => Ok(()),
        Some(line) => {
            let expected = "another quote at the end of its cell";
            Err(ReadError::new(file.name, line, "a quote that is not closed", expected))
        }
    }
}

/// The line of the first quote that is not closed.
fn unclosed(text: &[u8], separator: u8) -> Option<u64> {
    let ends_cell = |byte: u8| byte == separator || byte == b'\n' || byte == b'\r';
    let (mut at, mut line, mut is_start) = (0, 1, true);
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte == b'"' && is_start {
            let opened = line;
            let behind = loop {
                match (text.get(at), text.get(at + 1)) {
                    (None, _) => return Some(opened),
                    (Some(b'"'), Some(b'"')) => at += 2,
                    (Some(b'"'), behind) => break behind,
                    (Some(byte), _) => {
                        line += u64::from(*byte == b'\n');
                        at += 1;
                    }
                }
            };
            if line > opened && behind.is_some_and(|byte| !ends_cell(*byte) && !byte.is_ascii_whitespace()) {
                return Some(opened);
            }
            at += 1;
            is_start = false;
            continue;
        }
        line += u64::from(byte == b'\n');
        is_start = ends_cell(byte);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unclosed_quote_is_found_on_its_line() {
        for (text, line) in [
            ("a,b\n1,\"2\n3,4\n", Some(2)),
            ("a,b\n1,2\n\"3,4\n5,6", Some(3)),
            ("a,b\n1,\"2\n3,4\n5,\"6\"\n", Some(2)),
            ("a,b\n1,\"", Some(2)),
            ("a,b\n1,\"x\"\"\n", Some(2)),
            ("a,b\n1,\"two\nlines\"\n3,4\n", None),
            ("a,b\n1,\"two\r\nlines\" ,3\r\n", None),
            ("a,b\n\"two\nlines\"\t,3\n", None),
            ("a,b\n1,\"say \"\"x\"\", y\"\n", None),
            ("a,b\n5\" disk,\"\"\n", None),
            ("a,b\n\"x\" y,2\n", None),
            ("", None),
        ] {
            assert_eq!(unclosed(text.as_bytes(), b','), line, "{text:?}");
        }
        assert_eq!(unclosed(b"a;b\n1;\"2\n3;4\n", b';'), Some(2));
        assert_eq!(unclosed(b"a;b\n1,\"2;3\n", b';'), None, "within a cell");
    }
}
