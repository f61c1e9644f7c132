//! The Brunner-Munzel test: the rank test without the assumption of equal spreads.
//!
//! The rank test takes all assignments to the sides as equally likely. If the smaller side varies
//! more, that is not so, and the test's interval is too narrow. Here each side's ranks have their
//! own variance, with Satterthwaite's degrees of freedom.
//!
//! Source: E. Brunner and U. Munzel, The Nonparametric Behrens-Fisher Problem: Asymptotic Theory
//! and a Small-Sample Approximation, Biometrical Journal 42, 2000.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided p-value of `b` against `a` moved by `shift`. Both lists ascend and have at least two
/// values.
pub(super) fn chance(a: &[f64], b: &[f64], shift: f64) -> f64 {
    let moved: Vec<f64> = a.iter().map(|value| value + shift).collect();
    let (m, n) = (a.len() as f64, b.len() as f64);
    let (_, a_variance) = mean_and_variance(&placements(&moved, b));
    let (b_mean, b_variance) = mean_and_variance(&placements(b, &moved));
    let (a_part, b_part) = (a_variance / (n * n * m), b_variance / (m * m * n));
    let square = a_part + b_part;
    let off = b_mean / m - 0.5;
    if square == 0.0 {
        // The sides are separated, or all values are equal.
        return f64::from(u8::from(off == 0.0));
    }
    let degrees = square * square / (a_part * a_part / (m - 1.0) + b_part * b_part / (n - 1.0));
    let student = StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are above 0");
    2.0 * student.cdf(-off.abs() / square.sqrt())
}

/// For each of `values`, the number of `others` below it, ties half. Both lists ascend.
fn placements(values: &[f64], others: &[f64]) -> Vec<f64> {
    let (mut below, mut up_to) = (0, 0);
    let place = |value: &f64| {
        while below < others.len() && others[below] < *value {
            below += 1;
        }
        while up_to < others.len() && others[up_to] <= *value {
            up_to += 1;
        }
        (below + up_to) as f64 / 2.0
    };
    values.iter().map(place).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: pain scores of 14 and 11 patients; p = 0.0058.
    #[test]
    fn the_example_of_the_paper() {
        let a = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0];
        let b = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0];
        assert!((chance(&a, &b, 0.0) - 0.005_786).abs() < 1e-5, "{}", chance(&a, &b, 0.0));
        assert!((chance(&b, &a, 0.0) - 0.005_786).abs() < 1e-5);
    }

    #[test]
    fn separated_sides_differ_and_equal_values_do_not() {
        assert_eq!(chance(&[1.0, 2.0], &[3.0, 4.0], 0.0), 0.0);
        assert_eq!(chance(&[1.0, 1.0], &[1.0, 1.0, 1.0], 0.0), 1.0);
        assert!(chance(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0], 2.0) > 0.9);
    }
}
