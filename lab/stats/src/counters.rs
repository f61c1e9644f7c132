//! The kernel's counters, per operation.

use crate::median::median;
use crate::repeat::Repeat;
use crate::thresholds::COUNTERS_KEPT;
use std::collections::BTreeSet;

/// Median over the repeats of each counter's difference per operation, the greatest magnitude
/// first, at most [`COUNTERS_KEPT`]. Counters whose median is 0 are left out, and so are the
/// machine's CPU times (`stat.*`), which are shown as shares.
///
/// A counter that a repeat does not name did not change in it. A repeat without any counter is left
/// out, because counters were not read.
pub(crate) fn counters_per_operation(repeats: &[Repeat<'_>]) -> Vec<(String, f64)> {
    let counted: Vec<&Repeat<'_>> =
        repeats.iter().filter(|repeat| repeat.operations > 0 && !repeat.attempt.counters.is_empty()).collect();
    let names: BTreeSet<&str> =
        counted.iter().flat_map(|repeat| repeat.attempt.counters.keys().map(String::as_str)).collect();
    let per_operation = |repeat: &Repeat<'_>, name: &str| {
        repeat.attempt.counters.get(name).map_or(0.0, |&delta| delta as f64 / repeat.operations as f64)
    };
    let mut counters: Vec<(String, f64)> = names
        .into_iter()
        .filter(|name| !name.starts_with("stat."))
        .filter_map(|name| {
            let values: Vec<f64> = counted.iter().map(|repeat| per_operation(repeat, name)).collect();
            Some((name.to_owned(), median(&values)?))
        })
        .filter(|(_, value)| *value != 0.0)
        .collect();
    counters.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    counters.truncate(COUNTERS_KEPT);
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_record::describe::Style;
    use faultline_record::record::Attempt;

    fn attempt(counters: &[(&str, i64)]) -> Attempt {
        let mut attempt = example::attempt(1, 1);
        attempt.counters = counters.iter().map(|&(name, delta)| (name.to_owned(), delta)).collect();
        attempt
    }

    fn counters(attempts: &[Attempt]) -> Vec<(String, f64)> {
        let repeats: Vec<Repeat<'_>> = attempts
            .iter()
            .map(|attempt| Repeat { operations: 10, ..Repeat::of(Style::Loop, 0, attempt).unwrap() })
            .collect();
        counters_per_operation(&repeats)
    }

    #[test]
    fn the_greatest_comes_first_and_cpu_times_are_left_out() {
        let found = counters(&[attempt(&[("vmstat.a", 10), ("vmstat.b", -30), ("stat.user_ns", 1000)])]);
        assert_eq!(found, [("vmstat.b".to_owned(), -3.0), ("vmstat.a".to_owned(), 1.0)]);
    }

    #[test]
    fn a_counter_that_is_not_named_did_not_move() {
        let attempts = [
            attempt(&[("vmstat.a", 10), ("vmstat.b", 10)]),
            attempt(&[("vmstat.b", 30)]),
            attempt(&[("vmstat.b", 20)]),
        ];
        assert_eq!(counters(&attempts), [("vmstat.b".to_owned(), 2.0)]);
    }

    #[test]
    fn a_repeat_without_counters_was_not_counted() {
        assert_eq!(
            counters(&[attempt(&[]), attempt(&[]), attempt(&[("vmstat.a", 10)])]),
            [("vmstat.a".to_owned(), 1.0)]
        );
        assert_eq!(counters_per_operation(&[]), []);
    }

    #[test]
    fn only_the_greatest_are_kept() {
        let names: Vec<String> = (0..100).map(|i| format!("vmstat.c{i}")).collect();
        let all: Vec<(&str, i64)> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i as i64)).collect();
        let found = counters(&[attempt(&all)]);
        assert_eq!((found.len(), found[0].0.as_str()), (COUNTERS_KEPT, "vmstat.c99"));
    }
}
