//! Wilcoxon's signed-rank test: do differences within blocks tend to be above or below 0?
//!
//! If both sides are equal and each block's order was random, the sign of every difference is a
//! coin toss. This holds for every kind of noise, even if runs depend on earlier ones. So the
//! p-value comes from all tosses, including ties. Sources: F. Wilcoxon, Individual Comparisons by
//! Ranking Methods, Biometrics Bulletin 1, 1945; for the interval J. W. Tukey, The Simplest
//! Signed-Rank Tests, Princeton, 1949.

use super::pairwise;
use super::u_distribution::by_normal;
use statrs::distribution::{ContinuousCDF, Normal};

/// Maximum number of pairs for the exact distribution: every count is then a whole number up to
/// 2⁵⁰.
const EXACT_PAIRS: usize = 50;

/// True if some outcome of `n` pairs would be significant at `alpha`, two-sided.
pub(crate) fn can_decide(n: usize, alpha: f64) -> bool {
    critical(n, alpha / 2.0).is_some()
}

/// The smallest number of pairs for which some outcome would be significant at `alpha`, two-sided.
pub(crate) fn fewest(alpha: f64) -> usize {
    (1..).find(|&n| can_decide(n, alpha)).expect("enough pairs reach any chance above 0")
}

/// Two-sided p-value: the probability of signed ranks as uneven as these. Differences of 0 have no
/// sign and are left out.
pub(crate) fn chance(differences: &[f64]) -> f64 {
    let mut signed: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    signed.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let mut double_ranks = Vec::with_capacity(signed.len());
    let mut positive = 0;
    for tied in signed.chunk_by(|x, y| x.abs() == y.abs()) {
        let double_rank = (2 * double_ranks.len() + tied.len() + 1) as u64;
        double_ranks.extend(tied.iter().map(|_| double_rank));
        positive += double_rank * tied.iter().filter(|difference| **difference > 0.0).count() as u64;
    }
    let all: u64 = double_ranks.iter().sum();
    (2.0 * at_most(&double_ranks, positive.min(all - positive))).min(1.0)
}

/// The estimated shift, and its interval: all shifts that the test does not reject at `alpha`. The
/// differences ascend. `None` if it would reject none.
pub(crate) fn shift(differences: &[f64], alpha: f64) -> Option<(f64, f64, f64)> {
    let n = differences.len();
    let k = critical(n, alpha / 2.0)?;
    let averages = (n * (n + 1) / 2) as u64;
    let average = |k| pairwise::average(differences, k);
    let centre = average((averages - 1) / 2).midpoint(average(averages / 2));
    Some((centre, average(k), average(averages - 1 - k)))
}

/// The difference that is found at `alpha`, two-sided, with the probability `power`, given the
/// noise of these differences, which ascend: the interval around its estimate must exclude 0.
/// `None` if there is none.
pub(crate) fn detectable(differences: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let (_, low, high) = shift(differences, alpha)?;
    let normal = Normal::standard();
    Some((high - low) / 2.0 * (1.0 + normal.inverse_cdf(power) / normal.inverse_cdf(1.0 - alpha / 2.0)))
}

/// The greatest k with P(T ≤ k) ≤ `tail`, where T is the sum of the ranks of positive differences
/// among `n` without ties; `None` if there is none.
fn critical(n: usize, tail: f64) -> Option<u64> {
    let double_ranks: Vec<u64> = (1..=n as u64).map(|rank| 2 * rank).collect();
    if n > EXACT_PAIRS {
        let (mean, variance) = moments(&double_ranks);
        let sum = (mean + Normal::standard().inverse_cdf(tail) * variance.sqrt()) / 2.0 - 0.5;
        return (sum >= 0.0).then_some(sum as u64);
    }
    let ways = ways(&double_ranks);
    let allowed = tail * 2f64.powi(n as i32);
    let mut below = 0.0;
    let kept = ways.iter().step_by(2).take_while(|ways| {
        below += **ways;
        below <= allowed
    });
    (kept.count() as u64).checked_sub(1)
}

/// Probability that the double ranks, each with a random sign, add up to at most `sum`.
fn at_most(double_ranks: &[u64], sum: u64) -> f64 {
    if double_ranks.len() > EXACT_PAIRS {
        let (mean, variance) = moments(double_ranks);
        return by_normal(sum as f64 / 2.0, mean / 2.0, variance / 4.0);
    }
    ways(double_ranks).iter().take(sum as usize + 1).sum::<f64>() / 2f64.powi(double_ranks.len() as i32)
}

fn moments(double_ranks: &[u64]) -> (f64, f64) {
    let squares: f64 = double_ranks.iter().map(|&rank| (rank as f64).powi(2)).sum();
    (double_ranks.iter().sum::<u64>() as f64 / 2.0, squares / 4.0)
}

/// Number of selections of the ranks with the sum 0, 1, 2, …
fn ways(ranks: &[u64]) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<u64>() as usize + 1];
    ways[0] = 1.0;
    for &rank in ranks {
        for sum in (rank as usize..ways.len()).rev() {
            ways[sum] += ways[sum - rank as usize];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::sorted;
    use proptest::prelude::*;

    /// Two-sided 5 and 1 %, from Wilcoxon's tables in textbooks.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (n, expected) in [(5, None), (6, Some(0)), (7, Some(2)), (10, Some(8)), (20, Some(52)), (25, Some(89))] {
            assert_eq!(critical(n, 0.025), expected, "{n}");
        }
        assert_eq!((critical(7, 0.005), critical(8, 0.005), critical(20, 0.005)), (None, Some(0), Some(37)));
        assert!(can_decide(11, 0.001) && !can_decide(10, 0.001));
        assert_eq!((fewest(0.05), fewest(0.001)), (6, 11));
        assert!(can_decide(fewest(1e-17), 1e-17));
    }

    #[test]
    fn the_normal_law_takes_over_without_a_jump() {
        let (at, next) = (critical(50, 0.025).unwrap(), critical(51, 0.025).unwrap());
        assert!(next > at && next < at + 25, "{at}, {next}");
        let ranks: Vec<u64> = (1..=50).map(|rank| 2 * rank).collect();
        let (mean, variance) = moments(&ranks);
        let exact = at_most(&ranks, 2 * at);
        assert!((exact - by_normal(at as f64, mean / 2.0, variance / 4.0)).abs() < 5e-4, "{exact}");
    }

    #[test]
    fn chances_by_hand() {
        assert_eq!(chance(&[1.0, 2.0, 3.0]), 0.25);
        // Sums of the ranks of one sign 0, 1, 2, 3, 3, …: at most 3 in 5 of 16 tosses.
        assert_eq!(chance(&[-1.0, -2.0, 3.0, 4.0]), 10.0 / 16.0);
        // Ranks 1.5, 1.5, 3: at most 1.5 in 3 of 8.
        assert_eq!(chance(&[1.0, -1.0, 3.0]), 6.0 / 8.0);
        assert_eq!((chance(&[0.0, 0.0]), chance(&[])), (1.0, 1.0));
    }

    #[test]
    fn less_noise_shows_smaller_differences() {
        let noisy: Vec<f64> = (0..20).map(|i| f64::from(i) - 9.5).collect();
        let calm: Vec<f64> = noisy.iter().map(|difference| 7.0 + difference / 10.0).collect();
        let [noisy, calm] = [noisy, calm].map(|differences| detectable(&differences, 0.05, 0.8).unwrap());
        assert!((noisy / calm - 10.0).abs() < 1e-9);
        assert_eq!(detectable(&[1.0, 2.0], 0.05, 0.8), None);
    }

    proptest! {
        #[test]
        fn without_ties_the_interval_excludes_nought_exactly_when_the_chance_is_small(
            differences in proptest::collection::vec(-0.5f64..1.0, 6..14),
        ) {
            let differences = sorted(&differences);
            let (centre, low, high) = shift(&differences, 0.05).unwrap();
            prop_assert!(low <= centre && centre <= high);
            prop_assert_eq!(chance(&differences) <= 0.05, low > 0.0 || high < 0.0);
            let mirrored = sorted(&differences.iter().map(|difference| -difference).collect::<Vec<_>>());
            prop_assert_eq!(chance(&mirrored), chance(&differences));
            prop_assert_eq!(shift(&mirrored, 0.05), Some((-centre, -high, -low)));
        }
    }
}
