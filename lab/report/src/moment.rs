//! Points in time as text, always in UTC, so that a report is the same everywhere.

use faultline_model::time::UnixMillis;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-21 09:18 UTC`, for people.
pub(crate) fn words(at: UnixMillis) -> String {
    format(at, "%Y-%m-%d %H:%M UTC")
}

/// `2026-11-21`, for tables.
pub(crate) fn day(at: UnixMillis) -> String {
    format(at, "%Y-%m-%d")
}

/// `2026-11-21T09:18:34.123Z`, for programs and `datetime` attributes.
pub(crate) fn iso(at: UnixMillis) -> String {
    format(at, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

/// A point in time outside the calendar's range is shown as its number.
fn format(at: UnixMillis, pattern: &str) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.to_zoned(TimeZone::UTC).strftime(pattern).to_string(),
        Err(_) => format!("{} ms since 1970", at.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_utc() {
        assert_eq!(words(UnixMillis(1_560_531_834_000)), "2019-06-14 17:03 UTC");
        assert_eq!(iso(UnixMillis(1_560_531_834_007)), "2019-06-14T17:03:54.007Z");
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_a_number() {
        assert_eq!(words(UnixMillis(i64::MAX)), "9223372036854775807 ms since 1970");
    }
}
