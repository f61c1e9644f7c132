//! Points in time, in the forms that tools write.

use faultline_model::time::UnixMillis;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// A point in time: ISO 8601 and similar forms, also with dots or slashes between the date's parts, in UTC if no zone is given; or a
/// number of seconds since 1970, or of milliseconds if it has more than eleven digits.
pub(crate) fn parse(text: &str) -> Option<UnixMillis> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i64>() {
        return if number.unsigned_abs() < 100_000_000_000 { number.checked_mul(1000) } else { Some(number) }
            .map(UnixMillis);
    }
    let text = with_dashes(text);
    let at = text.parse::<Timestamp>().ok().or_else(|| with_offset(&text)).or_else(|| in_utc(&text))?;
    Some(UnixMillis(at.as_millisecond()))
}

/// `2026-11-21T09:18:34.123Z`; `None` outside the calendar's range.
pub(crate) fn iso(at: UnixMillis) -> Option<String> {
    let moment = Timestamp::from_millisecond(at.0).ok()?;
    Some(moment.to_string())
}

fn with_dashes(text: &str) -> String {
    let date = text.find([' ', 'T']).unwrap_or(text.len());
    let (date, rest) = text.split_at(date);
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
    fn one_moment_is_read_in_many_ways() {
        for text in [
            "2023-11-14T22:13:20Z",
            "2023-11-14 22:13:20 +0000",
            "2023.11.14 23:13:20 +0100",
            "2023-11-14 22:13:20",
            "2023/11/14 22:13:20",
            "2023-11-14T23:13:20+0100",
            "1700000000",
            "1700000000000",
        ] {
            assert_eq!(parse(text), Some(UnixMillis(1_700_000_000_000)), "{text}");
        }
        assert_eq!(parse("2023-11-14"), Some(UnixMillis(1_699_920_000_000)));
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for at in [0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, 253_402_207_200_000] {
            let text = iso(UnixMillis(at)).unwrap();
            assert_eq!(parse(&text), Some(UnixMillis(at)), "{text}");
        }
        assert_eq!(iso(UnixMillis(i64::MAX)), None);
    }
}
