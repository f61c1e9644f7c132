//! The peak of the universal law's throughput, with Fieller's interval.
//!
//! The derivative is 0 at n² = (1 − σ)/κ. An n is in the interval if 1 − σ − κn² is not
//! significantly different from 0. This is a quadratic inequality in n², whose solution may have no
//! upper end. Source: E. C. Fieller, Some Problems in Interval Estimation, Journal of the Royal
//! Statistical Society B 16, 1954.

use super::least_squares::Matrix;

/// CPUs at the peak, and both ends of the interval. `None` if there is no peak at 1 CPU or more, or
/// if its interval has no lower end.
///
/// `covariance` is that of (ln λ, σ, κ). `quantile` is the number of standard errors on each side
/// of an interval.
pub(crate) fn peak(
    serial: f64,
    coherence: f64,
    covariance: &Matrix<3>,
    quantile: f64,
) -> Option<(f64, f64, Option<f64>)> {
    let rest = 1.0 - serial;
    let peak = (rest / coherence).sqrt();
    if !(coherence > 0.0 && peak >= 1.0) {
        return None;
    }
    let square = quantile * quantile;
    let (a, half_b, c) = (
        coherence * coherence - square * covariance[2][2],
        rest * coherence + square * covariance[1][2],
        rest * rest - square * covariance[1][1],
    );
    let root = (half_b * half_b - a * c).max(0.0).sqrt();
    // The root nearer to 0, in the form without cancellation. It is the lower bound of the set, if
    // there is one.
    let low = c / (half_b + root);
    if !(low > 0.0 && half_b > 0.0) {
        return None;
    }
    let high = (a > 0.0).then(|| ((half_b + root) / a).sqrt());
    Some((peak, low.sqrt().min(peak), high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covariance(serial: f64, coherence: f64) -> Matrix<3> {
        [[0.0; 3], [0.0, serial * serial, 0.0], [0.0, 0.0, coherence * coherence]]
    }

    #[test]
    fn the_textbook_peak_lies_in_its_interval() {
        let (peak, low, high) = peak(0.05, 0.001, &covariance(0.01, 0.0001), 2.0).unwrap();
        assert!((peak - 950f64.sqrt()).abs() < 1e-9);
        assert!(low > 27.0 && low < peak && high.unwrap() > peak && high.unwrap() < 36.0, "{low} {high:?}");
    }

    #[test]
    fn a_cost_that_may_be_nought_has_no_upper_end() {
        assert_eq!(peak(0.05, 0.001, &covariance(0.01, 0.0009), 2.0).unwrap().2, None);
        assert_eq!(peak(0.05, 0.0, &covariance(0.01, 0.001), 2.0), None);
    }
}
