//! Detection of rates that were still changing when the region of interest began.
//!
//! A single repeat shows little: its first third may be slower by chance. But if a warm-up is too
//! short, the rate moves the same way in every repeat. The sign test over all repeats of a case, at
//! all its numbers of tasks, detects this. Many cases are tested at once, so the level is that of
//! the whole run (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995).

use crate::gather::CaseCells;
use crate::median::median;
use crate::repeat::rate;
use crate::thresholds::{UNSETTLED_CHANGE, UNSETTLED_LEVEL};
use faultline_record::protocol::Interval;
use statrs::distribution::{Binomial, DiscreteCDF};

/// A case whose rate was still changing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unsettled {
    /// Index of the case.
    pub(crate) case: usize,
    /// Median over its repeats of the first third's rate divided by that of the rest, minus 1:
    /// negative if the rate rose.
    pub(crate) change: f64,
}

/// The cases whose rate was still changing, by index.
pub(crate) fn unsettled(cases: &[CaseCells<'_>]) -> Vec<Unsettled> {
    let changes: Vec<Vec<f64>> = cases.iter().map(changes).collect();
    let chances: Vec<f64> = changes.iter().map(|changes| sign_test(changes)).collect();
    let limit = rejection_limit(&chances);
    let moved = |(case, changes): (usize, &Vec<f64>)| {
        let change = median(changes)?;
        (chances[case] <= limit && change.abs() > UNSETTLED_CHANGE).then_some(Unsettled { case, change })
    };
    changes.iter().enumerate().filter_map(moved).collect()
}

fn changes(case: &CaseCells<'_>) -> Vec<f64> {
    case.cells.iter().flat_map(|cell| &cell.repeats).filter_map(|repeat| change(&repeat.attempt.window)).collect()
}

/// The first third's rate divided by that of the rest, minus 1; `None` with fewer than three
/// intervals, or if the rest has no operations.
fn change(window: &[Interval]) -> Option<f64> {
    let (first, rest) = window.split_at(window.len() / 3);
    let (first, rest) = (rate(first)?, rate(rest)?);
    (rest > 0.0).then(|| first / rest - 1.0)
}

/// Two-sided p-value: the probability of signs as one-sided as these, if both are equally likely.
/// Zeros have no sign and are left out.
fn sign_test(changes: &[f64]) -> f64 {
    let up = changes.iter().filter(|change| **change > 0.0).count() as u64;
    let down = changes.iter().filter(|change| **change < 0.0).count() as u64;
    let signs = Binomial::new(0.5, up + down).expect("one half is a probability");
    (2.0 * signs.cdf(up.min(down))).min(1.0)
}

/// The greatest rejected p-value, by Benjamini and Hochberg; negative if none is rejected.
fn rejection_limit(chances: &[f64]) -> f64 {
    let mut ascending = chances.to_vec();
    ascending.sort_by(f64::total_cmp);
    let tests = ascending.len() as f64;
    let rejected = |(index, chance): &(usize, &f64)| **chance <= UNSETTLED_LEVEL * (*index as f64 + 1.0) / tests;
    ascending.iter().enumerate().rfind(rejected).map_or(-1.0, |(_, chance)| *chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::interval;

    #[test]
    fn a_change_is_that_of_the_first_third() {
        let window: Vec<Interval> =
            [80, 90, 100, 100, 100, 100].iter().zip(0..).map(|(&n, s)| interval(s, &[n])).collect();
        assert!((change(&window).unwrap() - -0.15).abs() < 1e-12);
        assert_eq!(change(&window[..2]), None);
        let still: Vec<Interval> = (0..3).map(|second| interval(second, &[0])).collect();
        assert_eq!(change(&still), None);
    }

    #[test]
    fn the_sign_test_counts_signs() {
        assert_eq!(sign_test(&[]), 1.0);
        assert_eq!(sign_test(&[0.0, 0.0]), 1.0);
        assert!((sign_test(&[0.1; 6]) - 2.0 / 64.0).abs() < 1e-12);
        assert!((sign_test(&[-0.1, 0.1, 0.1, 0.1, 0.0]) - 10.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn many_tests_share_one_level() {
        assert_eq!(rejection_limit(&[]), -1.0);
        assert_eq!(rejection_limit(&[0.04]), 0.04);
        assert_eq!(rejection_limit(&[0.04, 0.5]), -1.0);
        assert_eq!(rejection_limit(&[0.5, 0.02]), 0.02);
        assert_eq!(rejection_limit(&[0.04, 0.04]), 0.04);
    }
}
