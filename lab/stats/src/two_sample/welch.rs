//! Welch's test: the difference of two means with unequal variances, for fewer values than the rank
//! test needs.
//!
//! Source: B. L. Welch, The Generalization of "Student's" Problem When Several Different Population
//! Variances are Involved, Biometrika 34, 1947.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Minimum number of values of a side.
pub(crate) const FEWEST: usize = 3;

/// A difference of means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    /// Second side minus first side.
    pub(crate) mean: f64,
    /// Its standard error.
    pub(crate) error: f64,
    degrees: f64,
    /// The smallest p-value that may be stated.
    least_chance: f64,
}

/// True if `m` and `n` values may decide at `alpha`.
///
/// If values have two equally likely states, they happen to separate the sides in 2 of 2ᵐ⁺ⁿ cases,
/// and no test on means would notice. This must be rarer than `alpha`.
pub(crate) fn can_decide(m: usize, n: usize, alpha: f64) -> bool {
    m.min(n) >= FEWEST && rarest(m + n) <= alpha
}

fn rarest(values: usize) -> f64 {
    0.5f64.powf(values as f64 - 1.0)
}

/// The difference of `b` against `a`, with at least two values each.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> Difference {
    difference_and(a, b, [0.0; 2])
}

/// The difference of `b` against `a` after a correction that varies itself. `more`: the squares of
/// the correction's standard error on each side.
pub(crate) fn difference_and(a: &[f64], b: &[f64], more: [f64; 2]) -> Difference {
    let (a_mean, a_square) = mean_and_square_error(a);
    let (b_mean, b_square) = mean_and_square_error(b);
    let (a_square, b_square) = (a_square + more[0], b_square + more[1]);
    let (m, n) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    let square = a_square + b_square;
    let degrees =
        if square > 0.0 { square * square / (a_square * a_square / m + b_square * b_square / n) } else { m + n };
    Difference { mean: b_mean - a_mean, error: square.sqrt(), degrees, least_chance: rarest(a.len() + b.len()) }
}

/// As [`difference`], with the variance of each side drawn towards that of both together, which
/// counts like `weight` further values. A few values do not know their own variance. For sides that
/// other evidence separates: two states do not limit the p-value.
///
/// Source: G. K. Smyth, Linear Models and Empirical Bayes Methods for Assessing Differential
/// Expression in Microarray Experiments, Statistical Applications in Genetics and Molecular Biology
/// 3, 2004 (moderated t).
pub(crate) fn moderated(a: &[f64], b: &[f64], weight: f64) -> Difference {
    let (a_mean, b_mean) = (mean_and_square_error(a).0, mean_and_square_error(b).0);
    let (m, n) = (a.len() as f64 - 1.0, b.len() as f64 - 1.0);
    let (a_variance, b_variance) = (variance(a), variance(b));
    let together = (m * a_variance + n * b_variance) / (m + n);
    let square_error = |variance: f64, degrees: f64, values: usize| {
        (degrees * variance + weight * together) / (degrees + weight) / values as f64
    };
    let (a_square, b_square) = (square_error(a_variance, m, a.len()), square_error(b_variance, n, b.len()));
    let square = a_square + b_square;
    let parts = a_square * a_square / (m + weight) + b_square * b_square / (n + weight);
    let degrees = if square > 0.0 { (square * square / parts).min(m + n) } else { m + n };
    Difference { mean: b_mean - a_mean, error: square.sqrt(), degrees, least_chance: 0.0 }
}

/// The variance of at least two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    mean_and_square_error(values).1 * values.len() as f64
}

impl Difference {
    /// Two-sided p-value; of [`difference`] never below the probability that two states happen to
    /// separate the sides.
    pub(crate) fn chance(&self) -> f64 {
        let p = match (self.mean == 0.0, self.error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 2.0 * self.student().cdf(-(self.mean / self.error).abs()),
        };
        p.max(self.least_chance)
    }

    /// Half the width of the interval of coverage 1 − `alpha`.
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        self.error * self.student().inverse_cdf(1.0 - alpha / 2.0)
    }

    /// The smallest difference that is found with the probability `power`.
    pub(crate) fn detectable(&self, alpha: f64, power: f64) -> f64 {
        self.half_width(alpha) + self.error * self.student().inverse_cdf(power)
    }

    fn student(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.degrees).expect("degrees of freedom are above 0")
    }
}

fn mean_and_square_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (n - 1.0) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_worked_by_hand() {
        let found = difference(&[1.0, 2.0, 3.0], &[4.0, 6.0, 8.0]);
        assert!((found.mean - 4.0).abs() < 1e-12 && (found.error - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((found.degrees - 50.0 / 17.0).abs() < 1e-9);
        let width = found.half_width(0.05);
        assert!((found.chance() < 0.05) == (width < 4.0), "the interval and the chance agree");
        assert!(found.detectable(0.05, 0.8) > width);
    }

    #[test]
    fn a_few_values_borrow_their_variance() {
        let many: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 11)).collect();
        let (even, wide) = ([20.0, 20.0, 20.1], [12.0, 20.0, 28.0]);
        let borrowed = |few: &[f64]| moderated(&many, few, 2.0);
        assert!(borrowed(&even).error > 2.0 * difference(&many, &even).error, "three equal values are chance");
        assert!(borrowed(&wide).error < difference(&many, &wide).error);
        assert!(borrowed(&even).degrees > difference(&many, &wide).degrees + 1.0);
        let own = moderated(&many, &wide, 0.0);
        assert!((own.error - difference(&many, &wide).error).abs() < 1e-12, "no weight is Welch's test");
    }

    #[test]
    fn two_groups_of_three_decide_and_no_fewer() {
        assert!(can_decide(3, 3, 0.05) && !can_decide(2, 9, 0.05) && !can_decide(3, 3, 0.025));
        assert_eq!(difference(&[1.0; 3], &[2.0; 3]).chance(), 1.0 / 32.0);
        assert_eq!(difference(&[1.0; 3], &[1.0; 3]).chance(), 1.0);
    }
}
