//! Text of files: decoding, quoting in messages, numbers, times and CSV errors.

use crate::error::ReadError;
use faultline_record::time::UnixMillis;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// Decodes a file and removes its byte order mark. `name` goes into the message.
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

/// True if the bytes begin with a UTF-16 byte order mark of either byte order.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Quotes a piece of a file on one line, shortened to 60 characters.
pub(crate) fn quoted(piece: &str) -> String {
    const SHOWN: usize = 60;
    let shown: String = piece.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let more = if piece.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("'{shown}{more}'")
}

/// Lines that are not blank, with their numbers from 1.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.trim_end())).filter(|(_, line)| !line.is_empty())
}

/// Replaces each unwanted character; an empty text becomes `unnamed`.
pub(crate) fn with_only(text: &str, wanted: impl Fn(char) -> bool, instead: char) -> String {
    if text.is_empty() {
        return "unnamed".to_owned();
    }
    text.chars().map(|c| if wanted(c) { c } else { instead }).collect()
}

/// Replaces control characters by blanks and trims; the result may be empty.
pub(crate) fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ").trim().to_owned()
}

/// Replaces blanks and control characters, for names that must be one word.
pub(crate) fn word(text: &str) -> String {
    with_only(text, |c| !c.is_whitespace() && !c.is_control(), '_')
}

/// Parses a finite decimal number. `what` names it in the error.
pub(crate) fn finite(file: &str, line: u64, text: &str, what: &str) -> Result<f64, ReadError> {
    // Rust also parses `inf` and `nan`.
    text.parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .ok_or_else(|| ReadError::new(file, line, quoted(text), format!("{what}: a finite number")))
}

/// Converts an error of the CSV parser in the file `name`.
pub(crate) fn csv_error(name: &str, error: &csv::Error) -> ReadError {
    let line = error.position().map(csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            ReadError::new(name, line, format!("{len} columns"), format!("{expected_len}, as in the header"))
        }
        _ => ReadError::new(name, line, error.to_string(), "CSV"),
    }
}

/// Parses a time: ISO 8601 and similar forms, also with dots or slashes in the date, in UTC without
/// a zone, and `31.01.2026`; or a number of seconds since 1970, or of milliseconds if it has more
/// than eleven digits.
pub(crate) fn parse_time(text: &str) -> Option<UnixMillis> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i64>() {
        return if number.unsigned_abs() < 100_000_000_000 { number.checked_mul(1000) } else { Some(number) }
            .map(UnixMillis);
    }
    let text = with_dashes(text);
    let at = text.parse::<Timestamp>().ok().or_else(|| with_offset(&text)).or_else(|| in_utc(&text))?;
    Some(UnixMillis(at.as_millisecond()))
}

/// Formats a time as `2026-11-21T09:18:34.123Z`; `None` outside the calendar's range.
pub(crate) fn iso_time(at: UnixMillis) -> Option<String> {
    let moment = Timestamp::from_millisecond(at.0).ok()?;
    Some(moment.to_string())
}

fn with_dashes(text: &str) -> String {
    let date = text.find([' ', 'T']).unwrap_or(text.len());
    let (date, rest) = text.split_at(date);
    if let [day, month, year] = date.split('.').collect::<Vec<_>>()[..]
        && year.len() == 4
    {
        return format!("{year}-{month:0>2}-{day:0>2}{rest}");
    }
    format!("{}{rest}", date.replace(['.', '/'], "-"))
}

fn with_offset(text: &str) -> Option<Timestamp> {
    ["%Y-%m-%d %H:%M:%S%.f %z", "%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%d %H:%M %z"]
        .iter()
        .find_map(|pattern| strtime::parse(pattern, text).ok()?.to_timestamp().ok())
}

fn in_utc(text: &str) -> Option<Timestamp> {
    let at = text.parse::<DateTime>().ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp())
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

    #[test]
    fn one_moment_is_read_in_many_ways() {
        for text in [
            "2023-11-14T22:13:20Z",
            "2023-11-14 22:13:20 +0000",
            "2023.11.14 23:13:20 +0100",
            "2023-11-14 22:13:20",
            "2023/11/14 22:13:20",
            "14.11.2023 22:13:20",
            "2023-11-14T23:13:20+0100",
            "1700000000",
            "1700000000000",
        ] {
            assert_eq!(parse_time(text), Some(UnixMillis(1_700_000_000_000)), "{text}");
        }
        assert_eq!(parse_time("2023-11-14"), Some(UnixMillis(1_699_920_000_000)));
        assert_eq!(parse_time("yesterday"), None);
        assert_eq!(parse_time(""), None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for at in [0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, 253_402_207_200_000] {
            let text = iso_time(UnixMillis(at)).unwrap();
            assert_eq!(parse_time(&text), Some(UnixMillis(at)), "{text}");
        }
        assert_eq!(iso_time(UnixMillis(i64::MAX)), None);
    }
}
