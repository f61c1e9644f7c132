//! Numbers and dates as text: four significant digits, SI prefixes, units, intervals in the scale
//! of their median; times in UTC.

use crate::style::Signs;
use faultline_record::time::UnixMillis;
use faultline_stats::estimate::Estimate;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Significant digits of a figure.
const DIGITS: i32 = 4;

/// The scale of a median, shared by its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale<'a> {
    factor: f64,
    decimals: usize,
    prefix: &'a str,
    unit: &'a str,
}

impl<'a> Scale<'a> {
    /// The scale in which `value` has four significant digits, in `unit`.
    pub fn of(value: f64, unit: &'a str, signs: &'a Signs) -> Self {
        let (factor, prefix) = prefix(value, unit, signs);
        Scale { factor, decimals: decimals(value * factor), prefix, unit: symbol(unit) }
    }

    /// The number alone: `12.34`.
    pub(crate) fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value * self.factor)
    }

    /// Number, prefix, unit: `12.34 k exec/s`, `125.0 ms`.
    pub fn quantity(&self, value: f64) -> String {
        let number = self.number(value);
        match (self.prefix, self.unit) {
            ("", "") => number,
            ("", unit) => format!("{number} {unit}"),
            (prefix, unit) if joins_prefix(unit) => format!("{number} {prefix}{unit}"),
            (prefix, unit) => format!("{number} {prefix} {unit}").trim_end().to_owned(),
        }
    }

    /// An interval with the prefix once: `12.10 … 12.51 k`.
    pub fn span(&self, low: f64, high: f64, signs: &Signs) -> String {
        format!("{} {} {} {}", self.number(low), signs.to, self.number(high), self.span_suffix()).trim_end().to_owned()
    }

    /// The text after an interval: the prefix, with the unit if they are joined.
    pub(crate) fn span_suffix(&self) -> String {
        match self.prefix {
            "" => String::new(),
            prefix if joins_prefix(self.unit) => format!("{prefix}{}", self.unit),
            prefix => prefix.to_owned(),
        }
    }
}

/// A number with its unit: `12.34 k exec/s`.
pub fn quantity(value: f64, unit: &str, signs: &Signs) -> String {
    Scale::of(value, unit, signs).quantity(value)
}

/// A published figure with its own number of digits: `13 M faults/s`.
pub fn printed(value: f64, unit: &str, signs: &Signs) -> String {
    let (factor, prefix) = prefix(value, unit, signs);
    let scaled = value * factor;
    let decimals =
        (0..=DIGITS as usize).find(|&d| (format!("{scaled:.d$}").parse() == Ok(scaled)) || d == DIGITS as usize);
    Scale { factor, decimals: decimals.unwrap_or_default(), prefix, unit: symbol(unit) }.quantity(value)
}

/// Four significant digits without a prefix: `1.893`.
pub(crate) fn plain(value: f64) -> String {
    format!("{:.*}", decimals(value), value)
}

/// A share as a percentage: `94.3 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The interval of a share: `93.1 … 95.2 %`.
pub(crate) fn percent_span(estimate: &Estimate, signs: &Signs) -> String {
    format!("{:.1} {} {:.1} %", estimate.low * 100.0, signs.to, estimate.high * 100.0)
}

/// Longer half-width of an interval, relative to its median: `±1.2 %`.
pub(crate) fn relative_margin(estimate: &Estimate, signs: &Signs) -> String {
    let margin = (estimate.high - estimate.median).max(estimate.median - estimate.low) / estimate.median.abs();
    if margin.is_finite() { format!("{}{:.1} %", signs.plus_minus, margin * 100.0) } else { signs.none.to_owned() }
}

/// A share with the longer half-width of its interval: `38.2 ±0.4 %`.
pub(crate) fn percent_margin(estimate: &Estimate, signs: &Signs) -> String {
    let margin = (estimate.high - estimate.median).max(estimate.median - estimate.low);
    format!("{:.1} {}{:.1} %", estimate.median * 100.0, signs.plus_minus, margin * 100.0)
}

/// A unit's symbol, or the unit itself.
fn symbol(unit: &str) -> &str {
    match unit {
        "byte" => "B",
        unit => unit,
    }
}

/// True for units that join their prefix. Others are nouns per second: `k exec/s`.
fn joins_prefix(unit: &str) -> bool {
    matches!(unit, "s" | "B" | "B/s" | "bit/s" | "Hz")
}

/// True for units with a prefix of their own, as other tools write: `MB/s`, `ns/op`.
fn has_prefix(unit: &str) -> bool {
    let quantity = unit.split('/').next().unwrap_or_default();
    ["s", "sec", "B", "iB", "bit", "Hz"].iter().any(|base| {
        let prefix = quantity.strip_suffix(base);
        prefix.is_some_and(|prefix| ["n", "u", "µ", "μ", "m", "k", "K", "M", "G", "T"].contains(&prefix))
    })
}

/// The factor that scales a value to 1 … 1000, and the prefix. Seconds get only prefixes below 1.
fn prefix<'a>(value: f64, unit: &str, signs: &'a Signs) -> (f64, &'a str) {
    let size = value.abs();
    if !size.is_finite() || size == 0.0 || matches!(unit, "%" | "percent" | "ratio") || has_prefix(unit) {
        return (1.0, "");
    }
    if unit == "s" {
        let steps = [(1.0, 1.0, ""), (1e-3, 1e3, "m"), (1e-6, 1e6, signs.micro)];
        return steps.into_iter().find(|step| rounds_to(size) >= step.0).map_or((1e9, "n"), |step| (step.1, step.2));
    }
    let steps = [(1e15, 1e-15, "P"), (1e12, 1e-12, "T"), (1e9, 1e-9, "G"), (1e6, 1e-6, "M"), (1e3, 1e-3, "k")];
    steps.into_iter().find(|step| rounds_to(size) >= step.0).map_or((1.0, ""), |step| (step.1, step.2))
}

/// `value` rounded to four significant digits: 999.96 becomes 1000.
fn rounds_to(value: f64) -> f64 {
    let unit = 10f64.powi(value.log10().floor() as i32 - (DIGITS - 1));
    (value / unit).round() * unit
}

/// Number of decimals for four significant digits.
fn decimals(value: f64) -> usize {
    let size = value.abs();
    if !size.is_finite() || size == 0.0 {
        return 0;
    }
    let magnitude = rounds_to(size).log10().floor() as i32;
    (DIGITS - 1 - magnitude).clamp(0, 12) as usize
}

/// Transfers per operation: four significant digits, at most four decimals.
pub(crate) fn transfers(value: f64) -> String {
    const LEAST: f64 = 1e-4;
    match value {
        0.0 => "0".to_owned(),
        value if value.abs() < LEAST => format!("<{LEAST}"),
        value if value.abs() < 1.0 => format!("{value:.4}"),
        value => plain(value),
    }
}

/// Date and time for people: `2026-11-21 09:18 UTC`.
pub(crate) fn date_time(at: UnixMillis) -> String {
    dated(at, "%Y-%m-%d %H:%M UTC")
}

/// Date: `2026-11-21`.
pub(crate) fn day(at: UnixMillis) -> String {
    dated(at, "%Y-%m-%d")
}

/// Date and time for programs: `2026-11-21T09:18:34.123Z`.
pub(crate) fn iso_time(at: UnixMillis) -> String {
    dated(at, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

/// Milliseconds since 1970 if the calendar does not contain the time.
fn dated(at: UnixMillis, pattern: &str) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.to_zoned(TimeZone::UTC).strftime(pattern).to_string(),
        Err(_) => format!("{} ms since 1970", at.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::UNICODE;

    fn shown(value: f64, unit: &str) -> String {
        quantity(value, unit, &UNICODE)
    }

    #[test]
    fn a_unit_with_a_prefix_gets_no_other() {
        let signs = &UNICODE;
        assert_eq!(quantity(22480.0, "MB/s", signs), "22480 MB/s");
        assert_eq!(quantity(3559.0, "ns/op", signs), "3559 ns/op");
        assert_eq!(quantity(3559.0, "B/op", signs), "3.559 k B/op");
        assert_eq!(quantity(3559.0, "ops", signs), "3.559 k ops");
    }

    #[test]
    fn four_digits_and_a_prefix() {
        assert_eq!(shown(12_341.6, "exec/s"), "12.34 k exec/s");
        assert_eq!(shown(999.96, "exec/s"), "1.000 k exec/s");
        assert_eq!(shown(999_960.0, "fault/s"), "1.000 M fault/s");
        assert_eq!(shown(0.25, "compile/s"), "0.2500 compile/s");
        assert_eq!(shown(4.3e9, "B/s"), "4.300 GB/s");
        assert_eq!(shown(0.0, "fault/s"), "0 fault/s");
    }

    #[test]
    fn seconds_are_never_thousands() {
        assert_eq!(shown(2975.43, "s"), "2975 s");
        assert_eq!(shown(0.125, "s"), "125.0 ms");
        assert_eq!(shown(0.99996, "s"), "1.000 s");
        assert_eq!(shown(3.2e-8, "s"), "32.00 ns");
    }

    #[test]
    fn an_interval_shares_the_scale_of_its_median() {
        let scale = Scale::of(12_341.6, "exec/s", &UNICODE);
        assert_eq!(scale.span(998.2, 12_500.0, &UNICODE), "1.00 … 12.50 k");
    }

    #[test]
    fn printed_figures_gain_no_digits() {
        assert_eq!(printed(13e6, "faults/s", &UNICODE), "13 M faults/s");
        assert_eq!(printed(4.3, "GB/s (approx.)", &UNICODE), "4.3 GB/s (approx.)");
        assert_eq!(printed(135_000.0, "exec/s", &UNICODE), "135 k exec/s");
    }

    #[test]
    fn margins_take_the_longer_side() {
        let estimate = Estimate { median: 0.5, low: 0.49, high: 0.52, coverage: 0.96, n: 5 };
        assert_eq!(percent_margin(&estimate, &UNICODE), "50.0 ±2.0 %");
        assert_eq!(relative_margin(&estimate, &UNICODE), "±4.0 %");
    }

    #[test]
    fn a_moment_is_shown_in_utc() {
        assert_eq!(date_time(UnixMillis(1_560_531_834_000)), "2019-06-14 17:03 UTC");
        assert_eq!(iso_time(UnixMillis(1_560_531_834_007)), "2019-06-14T17:03:54.007Z");
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_a_number() {
        assert_eq!(date_time(UnixMillis(i64::MAX)), "9223372036854775807 ms since 1970");
    }
}
