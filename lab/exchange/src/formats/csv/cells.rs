//! Cells of a table: numbers, times, names of commits and versions.

use crate::text;
use faultline_record::time::UnixMillis;

/// A decimal number, or `None`. With `comma`, the decimal mark may be a comma.
pub(super) fn number(cell: &str, comma: bool) -> Option<f64> {
    // Rust also parses `inf` and `nan`.
    let parse = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    match cell.bytes().filter(|byte| *byte == b',').count() {
        0 => parse(cell),
        1 if comma && !cell.contains('.') => parse(&cell.replace(',', ".")),
        _ => None,
    }
}

/// True if the comma of a number may separate thousands: `1,234`, but not `0,234` or `1,5`.
pub(super) fn has_thousands(cell: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    cell.trim_start_matches(['+', '-']).split_once(',').is_some_and(|(whole, rest)| {
        (1..=3).contains(&whole.len()) && !whole.starts_with('0') && digits(whole) && rest.len() == 3 && digits(rest)
    })
}

/// True for a time of day: `12:00`, `12:00:30Z`.
pub(super) fn is_time_of_day(cell: &str) -> bool {
    cell.as_bytes().get(2) == Some(&b':') && date(&format!("2000-01-01 {cell}")).is_some()
}

/// A time: a date, with or without the time of day, or a number of seconds or milliseconds since
/// 1970. Other numbers are `None`: 20 may be anything.
pub(super) fn moment(cell: &str) -> Option<UnixMillis> {
    if cell.parse::<f64>().is_ok() { since_1970(cell).or_else(|| compact_date(cell)) } else { date(cell) }
}

/// The times from 2000 to 2100, in seconds since 1970.
const PLAUSIBLE_SECONDS: std::ops::Range<i64> = 946_684_800..4_102_444_800;

/// A number of seconds or milliseconds since 1970.
pub(super) fn since_1970(cell: &str) -> Option<UnixMillis> {
    let (whole, fraction) = cell.split_once('.').unwrap_or((cell, ""));
    let number: i64 = whole.parse().ok()?;
    let milliseconds: String = fraction.chars().chain("000".chars()).take(3).collect();
    if PLAUSIBLE_SECONDS.contains(&number) {
        return Some(UnixMillis(number * 1000 + milliseconds.parse::<i64>().ok()?));
    }
    PLAUSIBLE_SECONDS.contains(&(number / 1000)).then_some(UnixMillis(number))
}

/// A date without separators: `20260131`.
fn compact_date(cell: &str) -> Option<UnixMillis> {
    let is_date = cell.len() == 8 && cell.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| text::parse_time(&format!("{}-{}-{}", &cell[..4], &cell[4..6], &cell[6..]))).flatten()
}

fn date(cell: &str) -> Option<UnixMillis> {
    let year = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    let begins = year.len() >= 8 && year.starts_with(|c: char| c.is_ascii_digit());
    begins.then(|| text::parse_time(cell)).flatten()
}

/// True for a commit's name: at least 7 hexadecimal digits.
pub(super) fn is_hexadecimal(cell: &str) -> bool {
    (7..=64).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True for a version: `v1.2`, `6.1.4`, `2.0.0-rc1`.
pub(super) fn is_version(cell: &str) -> bool {
    let numbers = cell.strip_prefix(['v', 'V']).unwrap_or(cell);
    let (release, rest) = numbers.split_at(numbers.find(['-', '+', '_']).unwrap_or(numbers.len()));
    let parts = release.split('.').filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty());
    parts.count() == release.split('.').count() && release.contains('.') && !rest.contains(char::is_whitespace)
}

/// True for a cell without a value: blank, or a word such as `NaN`, `NA` or `failed`.
pub(super) fn is_missing(cell: &str) -> bool {
    !cell.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_points_and_commas() {
        assert_eq!((number("-1.5e3", false), number("1,5", false)), (Some(-1500.0), None));
        assert_eq!((number("1,5", true), number("1.5", true)), (Some(1.5), Some(1.5)));
        for text in ["1,234,567", "1.234,5", "inf", "nan", "", "12ms", "1e999"] {
            assert_eq!(number(text, true), None, "{text}");
        }
    }

    #[test]
    fn times_and_numbers_are_distinguished() {
        let second = Some(UnixMillis(1_700_000_000_000));
        for text in ["1700000000", "1700000000000", "1700000000.0", "2023-11-14T22:13:20Z", "14.11.2023 22:13:20"] {
            assert_eq!(moment(text), second, "{text}");
        }
        assert_eq!(moment("1700000000.25"), Some(UnixMillis(1_700_000_000_250)));
        assert_eq!((moment("20231114"), moment("14.11.2023")), (moment("2023-11-14"), moment("2023/11/14")));
        for text in ["", "1", "1210", "12.5", "soon", "1.2.3", "01/02/2026", "20261399", "-1700000000"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn commas_that_may_separate_thousands() {
        assert!(["1,234", "-12,345", "999,000"].into_iter().all(has_thousands));
        assert!(!["1234", "0,234", "1,5", "1,2345", "1234,567", "1,23e", ",234"].into_iter().any(has_thousands));
    }

    #[test]
    fn times_of_day() {
        assert!(["12:00", "23:59:59", "12:00:30Z"].into_iter().all(is_time_of_day));
        assert!(!["", "12", "25:00", "a:b", "2026-01-31 12:00:00", "noon: 12"].into_iter().any(is_time_of_day));
    }

    #[test]
    fn names_of_commits_and_versions() {
        assert!(is_hexadecimal("1f3a9c2") && !is_hexadecimal("1f3a9") && !is_hexadecimal("1f3a9cz"));
        for text in ["v1.2", "6.1.4", "2.0.0-rc1", "1.0.0+build.5", "V3.0"] {
            assert!(is_version(text), "{text}");
        }
        for text in ["", "v", "v1", "1..2", "main", "1.2 ms", "1.2-a b", "1.2ms"] {
            assert!(!is_version(text), "{text}");
        }
    }

    #[test]
    fn cells_without_a_value() {
        for text in ["", "NaN", "N/A", "-", "failed"] {
            assert!(is_missing(text), "{text}");
        }
        assert!(!is_missing("12ms"));
    }
}
