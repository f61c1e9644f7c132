//! The change of cost from side A to side B as a share and in words: `+12.3 %`. For times B/A − 1,
//! for rates A/B − 1, so that worse is positive.

use crate::style::Signs;
use faultline_record::direction::Direction;
use faultline_stats::workload_comparison::{Bounded, Inconclusive, WorkloadComparison};

/// Larger percentages are shown as `>`.
const HUGE: f64 = 1e6;

/// A change of cost with its interval, as shares: 0.12 is 12 % worse, below 0 it is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// The estimate.
    pub(crate) value: f64,
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
    /// Share of such intervals that enclose the true figure: 0…1.
    pub(crate) level: f64,
}

impl Change {
    /// A workload's change; `None` if its ratio is not worth showing
    /// ([`Inconclusive::has_estimate`]).
    pub(crate) fn of(comparison: &WorkloadComparison) -> Option<Self> {
        let is_shown = comparison.inconclusive.is_none_or(Inconclusive::has_estimate);
        Self::of_ratio(comparison).filter(|_| is_shown)
    }

    /// A workload's change, worth showing or not.
    pub(crate) fn of_ratio(comparison: &WorkloadComparison) -> Option<Self> {
        let ratio = comparison.ratio?;
        Some(match comparison.direction {
            Direction::Higher => Self::of_improvement(ratio),
            Direction::Lower => Self::of_cost(ratio),
        })
    }

    /// The change from a ratio that is above 1 if side B is better.
    pub(crate) fn of_improvement(Bounded { value, low, high, level }: Bounded) -> Self {
        Self::of_cost(Bounded { value: 1.0 / value, low: 1.0 / high, high: 1.0 / low, level })
    }

    /// The change from a ratio that is above 1 if side B is worse.
    fn of_cost(ratio: Bounded) -> Self {
        Change { value: ratio.value - 1.0, low: ratio.low - 1.0, high: ratio.high - 1.0, level: ratio.level }
    }

    /// The estimate: `+12.3 %`.
    pub(crate) fn words(&self, signs: &Signs) -> String {
        if !self.value.is_finite() {
            return signs.none.to_owned();
        }
        format!("{} %", signed(self.value, self.decimals(), signs))
    }

    /// The interval: `+11.0 … +13.6 %`.
    pub(crate) fn span(&self, signs: &Signs) -> String {
        if self.low.is_nan() || self.high.is_nan() {
            return signs.none.to_owned();
        }
        let decimals = self.decimals();
        let end = |share| signed(share, decimals, signs);
        format!("{} {} {} %", end(self.low), signs.to, end(self.high))
    }

    /// The estimate with the longer half-width: `+12.3 ±1.3 %`.
    pub(crate) fn margin(&self, signs: &Signs) -> String {
        let margin = (self.high - self.value).max(self.value - self.low) * 100.0;
        if !margin.is_finite() || margin >= HUGE {
            return self.words(signs);
        }
        let decimals = self.decimals();
        format!("{} {}{margin:.decimals$} %", signed(self.value, decimals, signs), signs.plus_minus)
    }

    /// Decimals of a percentage, by the width of the interval.
    fn decimals(&self) -> usize {
        match (self.high - self.low) * 50.0 {
            half_width if half_width < 0.5 => 2,
            half_width if half_width < 50.0 => 1,
            _ => 0,
        }
    }
}

/// A share as a signed percentage without `%`: `+12.3`. Zero after rounding has no sign.
fn signed(share: f64, decimals: usize, signs: &Signs) -> String {
    let percent = share * 100.0;
    let sign = if percent < 0.0 { signs.minus } else { "+" };
    if percent.abs() >= HUGE {
        return format!("{sign}>{:.0}", HUGE - 1.0);
    }
    let size = format!("{:.decimals$}", percent.abs());
    let is_nought = size.chars().all(|c| matches!(c, '0' | '.'));
    if is_nought { size } else { format!("{sign}{size}") }
}

/// A share as a percentage with at most two decimals: `2 %`, `0.25 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A probability near 1 with the fewest digits that distinguish it from 1: `95 %`, `98.3 %`, `99.88
/// %`.
pub(crate) fn level(level: f64) -> String {
    let error = (1.0 - level) * 100.0;
    if !(error > 0.0 && error < 100.0) {
        return format!("{:.0} %", level * 100.0);
    }
    let decimals = (1 - error.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{:.decimals$}", level * 100.0);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// A p-value: `0.031`, `< 0.0001`.
pub(crate) fn chance(p: f64) -> String {
    const LEAST: f64 = 1e-4;
    if p < LEAST {
        return format!("< {LEAST}");
    }
    let decimals = if p < 1.0 { (1.0 - p.log10().floor()).clamp(2.0, 5.0) as usize } else { 2 };
    format!("{p:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};

    fn change(value: f64, low: f64, high: f64) -> Change {
        Change::of_cost(Bounded { value, low, high, level: 0.95 })
    }

    #[test]
    fn worse_is_positive() {
        let better = Change::of_improvement(Bounded { value: 1.25, low: 1.0, high: 2.0, level: 0.95 });
        assert_eq!(better.words(&UNICODE), "−20.0 %");
        assert_eq!(better.span(&UNICODE), "−50.0 … 0.0 %");
    }

    #[test]
    fn a_change_has_a_sign_and_no_more_digits_than_its_interval_is_worth() {
        assert_eq!(change(1.123, 1.11, 1.136).words(&UNICODE), "+12.3 %");
        assert_eq!(change(0.9, 0.88, 0.92).span(&UNICODE), "−12.0 … −8.0 %");
        assert_eq!(change(0.9, 0.88, 0.92).margin(&ASCII), "-10.0 +-2.0 %");
        assert_eq!(change(1.0012, 1.0001, 1.0023).words(&UNICODE), "+0.12 %");
        assert_eq!(change(3.1, 2.0, 4.2).words(&UNICODE), "+210 %");
    }

    #[test]
    fn nought_has_no_sign_and_what_is_no_number_is_not_shown_as_one() {
        assert_eq!(change(0.9999, 0.99, 1.01).words(&UNICODE), "0.0 %");
        assert_eq!(change(f64::NAN, f64::NAN, f64::NAN).words(&UNICODE), "–");
        assert_eq!(change(1.0, f64::NAN, 1.0).span(&UNICODE), "–");
        assert_eq!(change(2.0, 0.5, f64::INFINITY).span(&UNICODE), "−50 … +>999999 %");
        assert_eq!(change(2.0, 0.5, f64::INFINITY).margin(&UNICODE), "+100 %");
    }

    #[test]
    fn a_margin_has_no_more_decimals_than_it_needs() {
        assert_eq!([0.02, 0.0025, 0.1, 0.015].map(percent), ["2 %", "0.25 %", "10 %", "1.5 %"]);
    }

    #[test]
    fn levels_and_chances_keep_what_tells_them_apart() {
        assert_eq!([0.95, 0.99, 0.98333333, 0.998765].map(level), ["95 %", "99 %", "98.3 %", "99.88 %"]);
        assert_eq!([1.0, f64::NAN].map(level), ["100 %", "NaN %"]);
        assert_eq!([0.5, 0.031, 0.0012, 1e-9, 1.0].map(chance), ["0.50", "0.031", "0.0012", "< 0.0001", "1.00"]);
    }
}
