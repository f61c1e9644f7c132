//! Where the universal law's throughput is greatest, with Fieller's interval.
//!
//! The derivative is 0 at n² = (1 − σ)/κ. An n is in the interval if 1 − σ − κn² can't be told from 0: a quadratic inequality in n², whose solution may have
//! no upper end. Source: E. C. Fieller, Some Problems in Interval Estimation, Journal of the Royal Statistical Society B 16, 1954.

use super::least_squares::Matrix;

/// CPUs at the peak, and both ends of the interval. None when there is no peak from 1 CPU on, or its interval has no lower end.
///
/// `covariance` is that of (ln λ, σ, κ), `quantile` the standard errors that an interval reaches to either side.
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
    // The root nearer to 0, in the form that doesn't cancel; it bounds the set from below, if the set has a lower bound at all.
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
