//! The separator of a table: comma, semicolon, tab or bar, whichever divides its lines equally.

use csv::{ByteRecord, Reader, ReaderBuilder, Trim};

const SEPARATORS: [u8; 4] = *b",;\t|";

/// Lines and bytes at the beginning that decide.
const LINES: usize = 20;
const BYTES: usize = 1 << 16;

/// A reader of a table. The first line is the header.
pub(super) fn reader(text: &[u8], separator: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().delimiter(separator).trim(Trim::All).from_reader(text)
}

/// The first lines of a table, the header first.
pub(super) fn beginning(text: &[u8], separator: u8) -> Vec<ByteRecord> {
    let text = &text[..text.len().min(BYTES)];
    let mut lines = ReaderBuilder::new();
    let lines = lines.delimiter(separator).trim(Trim::All).flexible(true).has_headers(false).from_reader(text);
    lines.into_byte_records().map_while(Result::ok).take(LINES).collect()
}

/// The separator that divides the first lines into the most columns, of equal number in each line
/// if possible. A comma if there is only one column. Fails with two separators that fit equally
/// well.
pub(super) fn separator(text: &[u8]) -> Result<u8, [u8; 2]> {
    let mut fitting: Vec<((bool, usize), u8)> = SEPARATORS
        .iter()
        .filter_map(|&separator| {
            let lines = beginning(text, separator);
            let columns = lines.first().map(ByteRecord::len).filter(|columns| *columns > 1)?;
            Some(((lines.iter().all(|line| line.len() == columns), columns), separator))
        })
        .collect();
    fitting.sort_by_key(|fitting| std::cmp::Reverse(fitting.0));
    match fitting[..] {
        [] => Ok(b','),
        [(best, one), (next, other), ..] if best == next => Err([one, other]),
        [(_, one), ..] => Ok(one),
    }
}

/// The name of a separator.
pub(super) fn name(separator: u8) -> &'static str {
    match separator {
        b';' => "semicolons",
        b'\t' => "tabs",
        b'|' => "bars",
        _ => "commas",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_divides_all_lines() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb, c\n1\t2\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("\"a;b\",c\n1,2\n", b','),
            ("rate\n1\n", b','),
            ("a,b\n1,2\n3\n", b','),
        ] {
            assert_eq!(separator(text.as_bytes()), Ok(expected), "{text}");
        }
        assert_eq!(separator(b"a,b;c\n1,2;3\n"), Err([b',', b';']));
    }
}
