//! The smallest shift that the rank test would find with a given probability, estimated from the noise of the values.
//!
//! Source: G. E. Noether, Sample Size Determination for Some Common Nonparametric Tests, Journal of the American Statistical Association 82, 1987: the
//! power depends on the shift through the probability that a value of one side exceeds one of the other. Values of a single side show how that
//! probability grows with a shift, for every shape of the noise.

use super::pairwise;
use statrs::distribution::{ContinuousCDF, Normal};

/// The shift between the sides that is found at `alpha`, two-sided, with the probability `power`. Both lists ascend. `None` if there is no such shift.
pub(crate) fn shift(a: &[f64], b: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let normal = Normal::standard();
    let needed = normal.inverse_cdf(1.0 - alpha / 2.0) + normal.inverse_cdf(power);
    // Twice the excess over ½ of the probability that a shifted value is greater. Differences within a side are symmetric around 0, so this is the
    // share of them that are smaller in size than the shift.
    let share = 2.0 * needed * ((m + n + 1.0) / (12.0 * m * n)).sqrt();
    let pairs = (m * (m - 1.0) + n * (n - 1.0)) / 2.0;
    (share < 1.0 && pairs >= 1.0).then(|| pairwise::distance(&[a, b], ((share * pairs) as u64).min(pairs as u64 - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_see_smaller_shifts() {
        let few: Vec<f64> = (0..8).map(f64::from).collect();
        let many: Vec<f64> = (0..80).map(|i| f64::from(i) / 10.0).collect();
        let [few, many] = [few, many].map(|values| shift(&values, &values, 0.05, 0.8).unwrap());
        assert!(many < few / 2.0, "{many} {few}");
        assert_eq!(shift(&[1.0, 2.0], &[1.0, 2.0], 0.05, 0.8), None);
    }
}
