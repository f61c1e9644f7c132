//! The Wilcoxon-Mann-Whitney test: do values of one side tend to be larger than those of the other?
//!
//! If both sides are equal and the order of runs was random, all assignments of the values to the
//! sides are equally likely, for every kind of noise. So the p-value comes from the permutations,
//! including ties. If the sides vary differently, that does not hold for a shift: a difference is
//! only reported if the Brunner-Munzel test agrees. Sources: F. Wilcoxon, Individual Comparisons by
//! Ranking Methods, Biometrics Bulletin 1, 1945; for the interval J. L. Hodges and E. L. Lehmann,
//! Estimates of Location Based on Rank Tests, Annals of Mathematical Statistics 34, 1963.

use super::u_distribution::{EXACT_VALUES, at_most, by_normal, critical};
use super::{brunner_munzel, pairwise};

/// True if some outcome of `m` and `n` values would be significant at `alpha`, two-sided.
pub(crate) fn can_decide(m: usize, n: usize, alpha: f64) -> bool {
    critical(m, n, alpha / 2.0).is_some()
}

/// Up to this many differences are examined one by one; among more, the interval's end is found by
/// bisection.
const EXAMINED: u64 = 500;

/// Shift of `b` against `a`, both ascending, and its interval: all shifts that one of the two tests
/// does not reject at `alpha`. `None` if they would reject none.
pub(crate) fn shift(a: &[f64], b: &[f64], alpha: f64) -> Option<(f64, f64, f64)> {
    let k = critical(a.len(), b.len(), alpha / 2.0)?;
    let last = a.len() as u64 * b.len() as u64 - 1;
    // The end as the k-th difference from below or from above.
    let end = |difference: &dyn Fn(u64) -> f64| {
        let is_rejected = |k: u64| {
            let shift = difference(k).midpoint(difference(k + 1));
            brunner_munzel::chance(a, b, shift) <= alpha
        };
        // Shifts between the differences `first` and `k` are not all rejected.
        let first = if k <= EXAMINED {
            (0..k).find(|&k| !is_rejected(k)).unwrap_or(k)
        } else {
            let (mut low, mut high) = (0, k);
            while low < high {
                let middle = low.midpoint(high);
                if is_rejected(middle) { low = middle + 1 } else { high = middle }
            }
            low
        };
        difference(first)
    };
    let low = end(&|k| pairwise::difference(a, b, k));
    let high = end(&|k| pairwise::difference(a, b, last - k));
    Some((pairwise::median_difference(a, b), low, high))
}

/// Two-sided p-value: the greater one of both tests. Both lists ascend.
pub(crate) fn chance(a: &[f64], b: &[f64]) -> f64 {
    by_ranks(a, b).max(brunner_munzel::chance(a, b, 0.0))
}

/// The probability of ranks as uneven as these.
fn by_ranks(a: &[f64], b: &[f64]) -> f64 {
    let ranks = double_ranks(a, b);
    let (m, n) = (a.len(), b.len());
    if !ranks.ties {
        let u = u64::from(ranks.of_b) / 2 - (n * (n + 1) / 2) as u64;
        return (2.0 * at_most(m, n, u.min((m * n) as u64 - u))).min(1.0);
    }
    let (lower, upper) = match m + n <= EXACT_VALUES {
        true => tails_by_permutation(&ranks.all, n, ranks.of_b),
        false => tails_by_normal(&ranks.all, n, ranks.of_b),
    };
    (2.0 * lower.min(upper)).min(1.0)
}

/// Twice the ranks, which are whole numbers, because tied values share the mean of their ranks.
struct DoubleRanks {
    all: Vec<u32>,
    of_b: u32,
    ties: bool,
}

fn double_ranks(a: &[f64], b: &[f64]) -> DoubleRanks {
    let mut values: Vec<(f64, bool)> = a.iter().map(|&x| (x, false)).chain(b.iter().map(|&x| (x, true))).collect();
    values.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut ranks = DoubleRanks { all: Vec::with_capacity(values.len()), of_b: 0, ties: false };
    for tied in values.chunk_by(|x, y| x.0 == y.0) {
        let before = ranks.all.len();
        let double_rank = (2 * before + tied.len() + 1) as u32;
        ranks.all.extend(tied.iter().map(|_| double_rank));
        ranks.of_b += double_rank * tied.iter().filter(|value| value.1).count() as u32;
        ranks.ties |= tied.len() > 1;
    }
    ranks
}

/// P(sum ≤ seen) and P(sum ≥ seen) over all selections of `n` of the ranks.
fn tails_by_permutation(ranks: &[u32], n: usize, seen: u32) -> (f64, f64) {
    let greatest: u32 = ranks.iter().rev().take(n).sum();
    // ways[j][s]: number of selections of j ranks with the sum s.
    let mut ways = vec![vec![0.0; greatest as usize + 1]; n + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for j in (1..=n).rev() {
            let (fewer, more) = ways.split_at_mut(j);
            let shifted = &fewer[j - 1][..(greatest + 1).saturating_sub(rank) as usize];
            more[0].iter_mut().skip(rank as usize).zip(shifted).for_each(|(ways, add)| *ways += add);
        }
    }
    let all: f64 = ways[n].iter().sum();
    let up_to: f64 = ways[n].iter().take(seen as usize + 1).sum();
    let below: f64 = ways[n].iter().take(seen as usize).sum();
    (up_to / all, (all - below) / all)
}

/// P(sum ≤ seen) and P(sum ≥ seen) by the normal approximation, with the variance corrected for
/// ties.
fn tails_by_normal(ranks: &[u32], n: usize, seen: u32) -> (f64, f64) {
    let count = ranks.len() as f64;
    let mean = ranks.iter().map(|&rank| f64::from(rank)).sum::<f64>() / count;
    let spread = ranks.iter().map(|&rank| (f64::from(rank) - mean).powi(2)).sum::<f64>() / count;
    let m = count - n as f64;
    let variance = n as f64 * m * spread / (count - 1.0);
    if variance == 0.0 {
        return (1.0, 1.0);
    }
    let centre = n as f64 * mean;
    (by_normal(f64::from(seen), centre, variance), by_normal(2.0 * centre - f64::from(seen), centre, variance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::sorted;
    use proptest::prelude::*;

    #[test]
    fn complete_separation_is_as_rare_as_can_be() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert!((chance(&a, &b) - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(shift(&a, &b, 0.05), Some((4.0, 1.0, 7.0)));
        assert!(can_decide(4, 4, 0.05) && !can_decide(3, 3, 0.05));
    }

    #[test]
    fn values_that_are_all_alike_differ_in_nothing() {
        assert_eq!(chance(&[1.0; 5], &[1.0; 6]), 1.0);
        assert_eq!(chance(&[1.0; 50], &[1.0; 60]), 1.0);
    }

    #[test]
    fn ties_by_hand() {
        // Ranks 1, 2.5, 2.5, 4; the second side has the last two. Sums of two are 3.5, 3.5, 5, 5,
        // 6.5, 6.5.
        assert!((chance(&[1.0, 2.0], &[2.0, 3.0]) - 4.0 / 6.0).abs() < 1e-12);
    }

    /// Eight values that vary three times as much as forty others, without a difference: the rank
    /// test alone rejects equality in 14 %.
    #[test]
    fn a_small_side_that_varies_more_is_no_difference() {
        let mut random = 1u64;
        let mut uniform = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let (mut by_ranks_alone, mut by_both, mut uncovered) = (0, 0, 0);
        for _ in 0..400 {
            let a = sorted(&(0..8).map(|_| 3.0 * normal()).collect::<Vec<_>>());
            let b = sorted(&(0..40).map(|_| normal()).collect::<Vec<_>>());
            by_ranks_alone += u32::from(by_ranks(&a, &b) <= 0.05);
            by_both += u32::from(chance(&a, &b) <= 0.05);
            let (_, low, high) = shift(&a, &b, 0.05).unwrap();
            uncovered += u32::from(low > 0.0 || high < 0.0);
        }
        assert!(by_ranks_alone > 40, "{by_ranks_alone} of 400");
        assert!(by_both <= 32 && uncovered <= 32, "{by_both}, {uncovered} of 400: 5 % and three deviations");
    }

    #[test]
    fn the_ends_of_many_pairs_are_found_by_bisection() {
        let values = |n: usize, width: f64| (0..n).map(|i| width * ((i * 37 % n) as f64 + 0.5)).collect::<Vec<_>>();
        let (a, b) = (sorted(&values(90, 3.0)), sorted(&values(100, 1.0)));
        let (shift, low, high) = shift(&a, &b, 0.05).unwrap();
        assert!(low < shift && shift < high);
        for (end, outward) in [(low, -1e-6), (high, 1e-6)] {
            assert!(brunner_munzel::chance(&a, &b, end + outward) <= 0.05);
        }
    }

    proptest! {
        #[test]
        fn mirrored_sides_mirror_the_answer(
            a in proptest::collection::vec(0u32..30, 4..14),
            b in proptest::collection::vec(0u32..30, 4..14),
        ) {
            let list = |values: &[u32]| sorted(&values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>());
            let (a, b) = (list(&a), list(&b));
            prop_assert!((chance(&a, &b) - chance(&b, &a)).abs() < 1e-12);
            let (there, back) = (shift(&a, &b, 0.05).unwrap(), shift(&b, &a, 0.05).unwrap());
            prop_assert_eq!(there, (-back.0, -back.2, -back.1));
        }

        #[test]
        fn without_ties_the_interval_holds_nought_when_the_chance_is_not_small(
            a in proptest::collection::vec(-1.0f64..1.0, 4..12),
            b in proptest::collection::vec(-0.5f64..1.5, 4..12),
        ) {
            let (a, b) = (sorted(&a), sorted(&b));
            let (_, low, high) = shift(&a, &b, 0.05).unwrap();
            prop_assert!(chance(&a, &b) <= 0.05 || (low <= 0.0 && 0.0 <= high));
        }
    }
}
