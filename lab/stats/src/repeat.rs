//! A repeat: the figures of one attempt that succeeded.

use faultline_record::describe::Style;
use faultline_record::protocol::Interval;
use faultline_record::record::Attempt;

/// One repeat of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat<'a> {
    /// Its block.
    pub(crate) block: u32,
    /// The record of the attempt.
    pub(crate) attempt: &'a Attempt,
    /// Its value, in the curve's unit; finite.
    pub(crate) value: f64,
    /// Operations by which its counters are divided; above 0 if there are any.
    pub(crate) operations: u128,
}

impl<'a> Repeat<'a> {
    /// The repeat of a block, if its attempt has a figure.
    pub(crate) fn of(style: Style, block: u32, attempt: &'a Attempt) -> Option<Self> {
        let operations = match style {
            Style::Loop => total(&attempt.window),
            Style::Once => 1,
        };
        Some(Repeat { block, attempt, value: attempt_value(style, attempt)?, operations })
    }
}

/// The value of one attempt: operations per second over the whole region of interest, or the first
/// measure of a workload that runs once.
///
/// `None` if the attempt has no interval with a length above 0, or no finite measure. This does not
/// check whether the attempt counts (it must have succeeded).
pub(crate) fn attempt_value(style: Style, attempt: &Attempt) -> Option<f64> {
    match style {
        Style::Loop => rate(&attempt.window),
        Style::Once => attempt.measures.first().map(|measure| measure.value).filter(|value| value.is_finite()),
    }
}

/// Operations per second of all tasks over all `intervals`; `None` if their total length is 0.
pub(crate) fn rate(intervals: &[Interval]) -> Option<f64> {
    let length_ns = length_ns(intervals);
    (length_ns > 0).then(|| total(intervals) as f64 / (length_ns as f64 / 1e9))
}

/// Operations of all tasks in all `intervals`.
pub(crate) fn total(intervals: &[Interval]) -> u128 {
    intervals.iter().map(Interval::total).sum()
}

/// Total length of `intervals`. An interval that ends before it begins, which no valid output
/// contains, has length 0.
pub(crate) fn length_ns(intervals: &[Interval]) -> u128 {
    intervals.iter().map(|interval| u128::from(interval.to_ns.saturating_sub(interval.from_ns))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::direction::Direction;
    use faultline_record::protocol::Measure;

    fn interval(from_ns: u64, to_ns: u64, operations: &[u64]) -> Interval {
        Interval { from_ns, to_ns, operations: operations.to_vec() }
    }

    #[test]
    fn a_rate_is_all_operations_over_all_time() {
        // Two intervals of different lengths: the mean of their rates, 100/s and 10/s, would be
        // another value.
        let intervals = [interval(0, 1_000_000_000, &[60, 40]), interval(1_000_000_000, 5_000_000_000, &[20, 20])];
        assert_eq!(rate(&intervals), Some(140.0 / 5.0));
        assert_eq!(rate(&[]), None);
        assert_eq!(rate(&[interval(7, 7, &[1])]), None);
        assert_eq!(rate(&[interval(0, 10, &[0])]), Some(0.0));
    }

    #[test]
    fn a_workload_that_runs_once_is_worth_its_first_measure() {
        let mut attempt = example::attempt(1, 0);
        assert_eq!(attempt_value(Style::Once, &attempt), None);
        for (name, value) in [("real_s", 12.5), ("user_s", 20.0)] {
            attempt.measures.push(Measure { name: name.into(), unit: "s".into(), direction: Direction::Lower, value });
        }
        assert_eq!(attempt_value(Style::Once, &attempt), Some(12.5));
    }
}
