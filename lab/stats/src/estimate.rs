//! An estimated value with its confidence interval. Most figures that are shown are estimates.
//!
//! The interval of a median is distribution-free: two order statistics, and the exact probability
//! with which they enclose the median.
//!
//! Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., 2003, §7.1.

use crate::median::{median_of_sorted, sorted};
use crate::thresholds::COVERAGE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// A median with its confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Estimate {
    /// Median of the values.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that such an interval contains the true median, for this sample size: 0…1.
    pub coverage: f64,
    /// Sample size: the number of repeats (not of intervals).
    pub n: u32,
}

/// Median of `values` with the narrowest interval of equal tails [x₍ₖ₎, x₍ₙ₊₁₋ₖ₎] whose coverage of
/// the true median is at least [`COVERAGE`]. With fewer than six values none reaches it, and the
/// interval is [smallest, greatest].
///
/// `None` if there are no values, or one is not finite. Assumes that the values are independent;
/// makes no assumption about the shape of their distribution. For a discrete distribution the true
/// coverage is at least the stated one.
pub(crate) fn estimate(values: &[f64]) -> Option<Estimate> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let values = sorted(values);
    let median = median_of_sorted(&values)?;
    let n = values.len();
    let (rank, coverage) = rank(n as u64);
    let rank = rank as usize;
    Some(Estimate { median, low: values[rank - 1], high: values[n - rank], coverage, n: n as u32 })
}

/// The estimate times a positive `factor`; `None` if the result is not a finite number.
pub(crate) fn scaled(estimate: &Estimate, factor: f64) -> Option<Estimate> {
    let [median, low, high] = [estimate.median, estimate.low, estimate.high].map(|value| value * factor);
    let finite = median.is_finite() && low.is_finite() && high.is_finite();
    finite.then_some(Estimate { median, low, high, ..*estimate })
}

/// The smallest number of values for which some interval reaches [`COVERAGE`].
pub(crate) fn fewest_values() -> u64 {
    (1..).find(|&n| coverage(n, 1) >= COVERAGE).expect("the coverage of all values approaches 1")
}

/// The greatest rank k, from 1, whose interval [x₍ₖ₎, x₍ₙ₊₁₋ₖ₎] reaches [`COVERAGE`], and its
/// coverage; rank 1 if none does.
fn rank(n: u64) -> (u64, f64) {
    let mut best = (1, coverage(n, 1));
    for k in 2..=n / 2 {
        let next = coverage(n, k);
        if next < COVERAGE {
            break;
        }
        best = (k, next);
    }
    best
}

/// Probability that [x₍ₖ₎, x₍ₙ₊₁₋ₖ₎] encloses the median: 1 − 2·P(B ≤ k−1), where B, the number of
/// values below the median, is binomial with n trials of probability ½.
fn coverage(n: u64, k: u64) -> f64 {
    if k == 1 {
        // P(B ≤ 0) is 2⁻ⁿ. It is computed exactly, so that the coverage of one value is 0 without
        // rounding errors.
        return 1.0 - 2.0 * 0.5f64.powf(n as f64);
    }
    let below = Binomial::new(0.5, n).expect("one half is a probability");
    (1.0 - 2.0 * below.cdf(k - 1)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Coverage from binomial coefficients added up one by one.
    fn coverage_by_hand(n: u64, k: u64) -> f64 {
        let mut coefficient = 1.0;
        let mut tail = 0.0;
        for i in 0..k {
            tail += coefficient;
            coefficient *= (n - i) as f64 / (i + 1) as f64;
        }
        1.0 - 2.0 * tail / 2f64.powi(n as i32)
    }

    #[test]
    fn coverage_is_that_of_the_tables() {
        for (n, k, expected) in [(1, 1, 0.0), (2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 0.978_515_625)] {
            let (rank, coverage) = rank(n);
            assert_eq!(rank, k, "rank for {n}");
            assert!((coverage - expected).abs() < 1e-12, "coverage for {n}: {coverage}");
        }
    }

    #[test]
    fn one_value_is_its_own_interval_and_covers_nothing() {
        let estimate = estimate(&[7.0]).unwrap();
        assert_eq!((estimate.median, estimate.low, estimate.high, estimate.n), (7.0, 7.0, 7.0, 1));
        assert_eq!(estimate.coverage, 0.0, "nothing that rounding left");
    }

    #[test]
    fn what_is_not_finite_is_not_estimated() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[1.0, f64::NAN]), None);
        assert_eq!(estimate(&[f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn the_narrowest_interval_that_covers_is_taken(n in 1u64..200) {
            let (k, coverage) = rank(n);
            prop_assert!((coverage - coverage_by_hand(n, k)).abs() < 1e-9);
            prop_assert_eq!(coverage >= COVERAGE, n >= fewest_values());
            let narrower = k + 1;
            if narrower <= n / 2 {
                prop_assert!(coverage_by_hand(n, narrower) < COVERAGE);
            }
        }

        #[test]
        fn scaling_the_values_scales_the_estimate(
            values in proptest::collection::vec(-1e6f64..1e6, 1..40),
            power in -20i32..20,
        ) {
            let factor = 2f64.powi(power);
            let plain = estimate(&values).unwrap();
            let multiplied: Vec<f64> = values.iter().map(|value| value * factor).collect();
            prop_assert_eq!(estimate(&multiplied), scaled(&plain, factor));
            prop_assert!(plain.low <= plain.median && plain.median <= plain.high);
        }

        #[test]
        fn the_order_of_the_values_does_not_matter(values in proptest::collection::vec(-1e6f64..1e6, 1..40)) {
            let backwards: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(estimate(&values), estimate(&backwards));
        }
    }
}
