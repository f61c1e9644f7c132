//! The distribution of Mann and Whitney's U if both sides are equal: exact for few values, the
//! normal approximation for many.
//!
//! U counts the pairs in which the second side's value is greater. Sources: H. B. Mann and D. R.
//! Whitney, On a Test of Whether One of Two Random Variables is Stochastically Larger than the
//! Other, Annals of Mathematical Statistics 18, 1947; G. E. Andrews, The Theory of Partitions, ch.
//! 3 (the counts are the coefficients of a Gaussian polynomial).

use statrs::distribution::{ContinuousCDF, Normal};

/// Maximum number of values of both sides for the exact distribution: every count is then a whole
/// number below 2⁵³.
pub(crate) const EXACT_VALUES: usize = 50;

/// P(U ≤ u) for `m` and `n` values without ties.
pub(crate) fn at_most(m: usize, n: usize, u: u64) -> f64 {
    if m + n > EXACT_VALUES {
        return by_normal(u as f64, (m * n) as f64 / 2.0, variance(m, n));
    }
    let counts = counts(m, n);
    let below: f64 = counts.iter().take(u as usize + 1).sum();
    below / counts.iter().sum::<f64>()
}

/// The greatest u with P(U ≤ u) ≤ `tail`; `None` if there is none.
pub(crate) fn critical(m: usize, n: usize, tail: f64) -> Option<u64> {
    if m + n > EXACT_VALUES {
        let normal = Normal::standard().inverse_cdf(tail);
        let u = ((m * n) as f64 / 2.0 - 0.5 + normal * variance(m, n).sqrt()).floor();
        return (u >= 0.0).then_some(u as u64);
    }
    let counts = counts(m, n);
    let allowed = tail * counts.iter().sum::<f64>();
    let mut below = 0.0;
    let kept = counts.iter().take_while(|count| {
        below += **count;
        below <= allowed
    });
    (kept.count() as u64).checked_sub(1)
}

/// P(X ≤ x) for whole numbers that are approximately normal, with the continuity correction.
pub(crate) fn by_normal(x: f64, mean: f64, variance: f64) -> f64 {
    Normal::standard().cdf((x + 0.5 - mean) / variance.sqrt())
}

fn variance(m: usize, n: usize) -> f64 {
    (m * n * (m + n + 1)) as f64 / 12.0
}

/// Number of orders of `m` and `n` values with U = 0, 1, …, m·n: the coefficients of Π (1 −
/// xⁿ⁺ⁱ)/(1 − xⁱ), i = 1…m.
fn counts(m: usize, n: usize) -> Vec<f64> {
    let (m, n) = (m.min(n), m.max(n));
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..counts.len()).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_tables() {
        assert_eq!(counts(2, 3), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        assert_eq!(counts(25, 25).iter().sum::<f64>(), 126_410_606_437_752.0, "50 choose 25");
    }

    /// Two-sided 5 %, from Mann and Whitney's tables in textbooks.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (m, n, expected) in [
            (3, 3, None),
            (3, 4, None),
            (4, 4, Some(0)),
            (5, 5, Some(2)),
            (8, 8, Some(13)),
            (10, 10, Some(23)),
            (20, 20, Some(127)),
        ] {
            assert_eq!(critical(m, n, 0.025), expected, "{m} and {n}");
        }
    }

    #[test]
    fn the_normal_law_takes_over_without_a_jump() {
        let exact = critical(25, 25, 0.025).unwrap();
        assert!((at_most(25, 25, exact) - by_normal(exact as f64, 312.5, variance(25, 25))).abs() < 5e-4);
        let next = critical(25, 26, 0.025).unwrap();
        assert!(next > exact && next < exact + 15, "{exact}, {next}");
    }
}
