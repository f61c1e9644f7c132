//! Kernel counters per operation that differ between the sides.

use super::paired::by_boot;
use crate::comparison::CounterDifference;
use crate::datasets::MeasuredRun;
use crate::median::{median_of_sorted, sorted};
use crate::thresholds::{COUNTERS_TESTED, COUNTERS_TOLD};
use crate::two_sample::{Pairing, Run, Samples, holm, rank_chance, sign_chance, units};
use std::collections::BTreeSet;

/// The differing counters, the most significant first: by corrected p-value, then by the size of
/// the change. At most [`COUNTERS_TOLD`].
///
/// Tests the [`COUNTERS_TESTED`] counters with the largest spread over both sides, by a rank test
/// (signed-rank with blocks) and Holm's correction. CPU times (`stat.*`) are left out. A counter
/// that a run does not name did not change in it; a run without any counter was not counted.
pub(crate) fn counters(a: &[MeasuredRun<'_>], b: &[MeasuredRun<'_>], level: f64) -> Vec<CounterDifference> {
    let (a, b) = (counted(a), counted(b));
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let mut tested: Vec<Tested> = names(a.iter().chain(&b)).into_iter().map(|name| Tested::new(name, &a, &b)).collect();
    tested.retain(|counter| counter.spread > 0.0);
    tested.sort_by(|x, y| y.spread.total_cmp(&x.spread).then_with(|| x.name.cmp(y.name)));
    tested.truncate(COUNTERS_TESTED);
    let chances: Vec<f64> = tested.iter().map(|counter| counter.chance).collect();
    let decided = tested.iter().zip(holm(&chances, 1.0 - level));
    let mut differing: Vec<CounterDifference> = decided
        .filter(|(_, decision)| decision.rejected)
        .filter_map(|(counter, decision)| counter.difference(decision.p_corrected))
        .collect();
    let change = |difference: &CounterDifference| (difference.b - difference.a).abs();
    differing.sort_by(|x, y| x.p_corrected.total_cmp(&y.p_corrected).then_with(|| change(y).total_cmp(&change(x))));
    differing.truncate(COUNTERS_TOLD);
    differing
}

fn counted<'r, 'a>(runs: &'r [MeasuredRun<'a>]) -> Vec<&'r MeasuredRun<'a>> {
    runs.iter().filter(|run| run.repeat.operations > 0 && !run.repeat.attempt.counters.is_empty()).collect()
}

fn names<'r>(runs: impl Iterator<Item = &'r &'r MeasuredRun<'r>>) -> BTreeSet<&'r str> {
    let names = runs.flat_map(|run| run.repeat.attempt.counters.keys().map(String::as_str));
    names.filter(|name| !name.starts_with("stat.")).collect()
}

/// A counter's values per operation, ascending.
struct Tested<'a> {
    name: &'a str,
    a: Vec<f64>,
    b: Vec<f64>,
    /// Interquartile range of the values of both sides together, so that the selection does not
    /// depend on the sides.
    spread: f64,
    /// p-value.
    chance: f64,
}

impl<'a> Tested<'a> {
    fn new(name: &'a str, a: &[&MeasuredRun<'_>], b: &[&MeasuredRun<'_>]) -> Self {
        let units = units(&samples(name, a), &samples(name, b));
        let differences: Vec<f64> = units.a.iter().zip(&units.b).map(|(a, b)| b.value - a.value).collect();
        let [a, b] = [units.a, units.b].map(|units| sorted(&units.iter().map(|unit| unit.value).collect::<Vec<_>>()));
        let all = sorted(&[a.as_slice(), b.as_slice()].concat());
        let quarter = all.len() / 4;
        let spread = all[all.len() - 1 - quarter] - all[quarter];
        let chance = match units.pairing {
            Pairing::Pairs => sign_chance(&differences),
            Pairing::NoPair => 1.0,
            Pairing::Unblocked => rank_chance(&a, &b),
        };
        Tested { name, a, b, spread, chance }
    }

    fn difference(&self, p_corrected: f64) -> Option<CounterDifference> {
        let [a, b] = [&self.a, &self.b].map(|values| median_of_sorted(values));
        Some(CounterDifference { name: self.name.to_owned(), a: a?, b: b?, p_corrected })
    }
}

fn samples(name: &str, runs: &[&MeasuredRun<'_>]) -> Samples {
    let run = |run: &&MeasuredRun<'_>| {
        let delta = run.repeat.attempt.counters.get(name).copied().unwrap_or(0);
        let per_operation = delta as f64 / run.repeat.operations as f64;
        (run.boot.clone(), Run { order: run.order, block: run.block, intervals: vec![per_operation] })
    };
    Samples { boots: by_boot(runs.iter().map(run)), ..Samples::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::repeat::Repeat;
    use faultline_record::describe::Style;
    use faultline_record::record::Attempt;

    /// Attempts of six million operations.
    fn attempts(values: &[&[(&str, i64)]]) -> Vec<Attempt> {
        let attempt = |counters: &&[(&str, i64)]| Attempt {
            counters: counters.iter().map(|&(name, delta)| (name.to_owned(), delta)).collect(),
            ..example::attempt(1, 1_000_000)
        };
        values.iter().map(attempt).collect()
    }

    fn runs(attempts: &[Attempt]) -> Vec<MeasuredRun<'_>> {
        let run = |attempt| MeasuredRun {
            repeat: Repeat::of(Style::Loop, 0, attempt).unwrap(),
            boot: Some("one".to_owned()),
            order: None,
            block: None,
            figures: Vec::new(),
            cpu_time: None,
        };
        attempts.iter().map(run).collect()
    }

    fn differing(a: &[&[(&str, i64)]], b: &[&[(&str, i64)]]) -> Vec<CounterDifference> {
        let (a, b) = (attempts(a), attempts(b));
        counters(&runs(&a), &runs(&b), 0.95)
    }

    #[test]
    fn the_greatest_change_among_equally_sure_ones_comes_first() {
        let first: Vec<[(&str, i64); 3]> = (0..8)
            .map(|i| [("vmstat.few", 100 + i), ("vmstat.many", 600_000 + i), ("vmstat.same", 7 * i % 5)])
            .collect();
        let second: Vec<[(&str, i64); 3]> = (0..8)
            .map(|i| [("vmstat.few", 900 + i), ("vmstat.many", 60_000 + i), ("vmstat.same", 5 * i % 7)])
            .collect();
        let [a, b] = [&first, &second].map(|side| side.iter().map(|one| &one[..]).collect::<Vec<_>>());
        let found = differing(&a, &b);
        let names: Vec<&str> = found.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!(names, ["vmstat.many", "vmstat.few"]);
        assert!((found[0].a - 0.1).abs() < 1e-5 && (found[0].b - 0.01).abs() < 1e-5);
        assert!(
            (found[0].p_corrected - 3.0 * 2.0 / 12870.0).abs() < 1e-9,
            "of three counters: {}",
            found[0].p_corrected
        );
    }

    #[test]
    fn what_is_alike_everywhere_or_not_counted_is_not_tested() {
        let steady: Vec<&[(&str, i64)]> = vec![&[("vmstat.a", 3), ("stat.user_ns", 9)]; 8];
        let other_time: Vec<&[(&str, i64)]> = vec![&[("vmstat.a", 3), ("stat.user_ns", 1)]; 8];
        assert_eq!(differing(&steady, &other_time), []);
        assert_eq!(differing(&steady, &[&[][..]; 8]), []);
    }

    #[test]
    fn a_counter_that_one_side_never_names_did_not_move_there() {
        let with: Vec<&[(&str, i64)]> = vec![&[("vmstat.a", 3), ("vmstat.b", 600_000)]; 8];
        let without: Vec<&[(&str, i64)]> = vec![&[("vmstat.a", 3)]; 8];
        let found = differing(&with, &without);
        assert_eq!((found.len(), found[0].name.as_str(), found[0].b), (1, "vmstat.b", 0.0));
    }
}
