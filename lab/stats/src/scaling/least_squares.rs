//! Least-squares fit of a law to logarithms of rates, with the parameters' covariance.
//!
//! The noise of rates is proportional to them, so residuals are those of logarithms. Gauss-Newton
//! steps, damped as by Levenberg and Marquardt. Source: G. A. F. Seber and C. J. Wild, Nonlinear
//! Regression, 1989, ch. 2 and 14.

use super::points::Value;

/// Parameters: ln λ, σ, and κ if the law has it.
pub(crate) type Vector<const P: usize> = [f64; P];
/// Their covariance.
pub(crate) type Matrix<const P: usize> = [[f64; P]; P];

/// Maximum number of steps.
const STEPS: u32 = 200;

/// The fit has settled if the sum of squares falls by less than this fraction.
const SETTLED: f64 = 1e-13;

/// A minimum.
pub(crate) struct Minimum<const P: usize> {
    pub(crate) parameters: Vector<P>,
    /// Inverse of JᵀJ: the covariance for a variance of 1.
    pub(crate) inverse: Matrix<P>,
    /// Sum of squared residuals.
    pub(crate) squares: f64,
}

/// The minimum for `values`; `None` if no step leads to one.
pub(crate) fn minimum<const P: usize>(values: &[Value]) -> Option<Minimum<P>> {
    let mut at = start::<P>(values)?;
    let mut squares = sum_of_squares(values, &at)?;
    let mut damping = 1e-4;
    for _ in 0..STEPS {
        let (normal, gradient) = normal_equations(values, &at);
        let mut damped = normal;
        (0..P).for_each(|i| damped[i][i] *= 1.0 + damping);
        let step = solve(&damped, &gradient)?;
        let next: Vector<P> = std::array::from_fn(|i| at[i] + step[i]);
        match sum_of_squares(values, &next).filter(|&next| next <= squares) {
            Some(fewer) => {
                let settled = squares - fewer <= SETTLED * squares;
                (at, squares, damping) = (next, fewer, damping / 10.0);
                if settled {
                    break;
                }
            }
            None if damping > 1e12 => break,
            None => damping *= 10.0,
        }
    }
    let (normal, _) = normal_equations(values, &at);
    let columns: Vec<Vector<P>> =
        (0..P).map(|i| solve(&normal, &std::array::from_fn(|j| f64::from(u8::from(i == j))))).collect::<Option<_>>()?;
    Some(Minimum { parameters: at, inverse: std::array::from_fn(|i| columns[i]), squares })
}

/// 1 + σ(n − 1) + κn(n − 1), and the factors of σ and κ.
fn denominator<const P: usize>(parameters: &Vector<P>, cpus: f64) -> (f64, [f64; 2]) {
    let terms = [cpus - 1.0, cpus * (cpus - 1.0)];
    (1.0 + parameters[1..].iter().zip(terms).map(|(parameter, term)| parameter * term).sum::<f64>(), terms)
}

/// ln of the law's rate; `None` if it is not defined there.
pub(crate) fn log_rate<const P: usize>(parameters: &Vector<P>, cpus: f64) -> Option<f64> {
    let (denominator, _) = denominator(parameters, cpus);
    (denominator > 0.0).then(|| parameters[0] + cpus.ln() - denominator.ln())
}

fn sum_of_squares<const P: usize>(values: &[Value], parameters: &Vector<P>) -> Option<f64> {
    values.iter().map(|value| Some((value.log_rate - log_rate(parameters, value.cpus)?).powi(2))).sum()
}

fn normal_equations<const P: usize>(values: &[Value], parameters: &Vector<P>) -> (Matrix<P>, Vector<P>) {
    let mut normal = [[0.0; P]; P];
    let mut gradient = [0.0; P];
    for value in values {
        let (denominator, terms) = denominator(parameters, value.cpus);
        let slope: Vector<P> = std::array::from_fn(|i| if i == 0 { 1.0 } else { -terms[i - 1] / denominator });
        let residual = value.log_rate - (parameters[0] + value.cpus.ln() - denominator.ln());
        for i in 0..P {
            gradient[i] += slope[i] * residual;
            (0..P).for_each(|j| normal[i][j] += slope[i] * slope[j]);
        }
    }
    (normal, gradient)
}

/// The starting point: n/rate is linear in 1/λ, σ/λ and κ/λ, and its noise is proportional to it.
fn start<const P: usize>(values: &[Value]) -> Option<Vector<P>> {
    let mut normal = [[0.0; P]; P];
    let mut right = [0.0; P];
    for value in values {
        let cost = (value.cpus.ln() - value.log_rate).exp();
        let terms = [1.0, value.cpus - 1.0, value.cpus * (value.cpus - 1.0)].map(|term| term / cost);
        for i in 0..P {
            right[i] += terms[i];
            (0..P).for_each(|j| normal[i][j] += terms[i] * terms[j]);
        }
    }
    let solved = solve(&normal, &right)?;
    let linear: Vector<P> = std::array::from_fn(|i| if i == 0 { -solved[0].ln() } else { solved[i] / solved[0] });
    let usable = solved[0] > 0.0 && sum_of_squares(values, &linear).is_some();
    // Without any loss, at the first value's rate: there the law is defined for any number of CPUs.
    let flat = || std::array::from_fn(|i| if i == 0 { values[0].log_rate - values[0].cpus.ln() } else { 0.0 });
    Some(if usable { linear } else { flat() })
}

/// Solves a symmetric positive definite system by Cholesky factors, after scaling its diagonal to
/// 1; `None` if it is singular.
fn solve<const P: usize>(matrix: &Matrix<P>, right: &Vector<P>) -> Option<Vector<P>> {
    let scale: Vector<P> = std::array::from_fn(|i| matrix[i][i].sqrt().recip());
    let mut factor = [[0.0; P]; P];
    for i in 0..P {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let rest = matrix[i][j] * scale[i] * scale[j] - known;
            factor[i][j] = match i == j {
                true if rest > 1e-14 => rest.sqrt(),
                true => return None,
                false => rest / factor[j][j],
            };
        }
    }
    let mut solved: Vector<P> = std::array::from_fn(|i| right[i] * scale[i]);
    for i in 0..P {
        let known: f64 = (0..i).map(|k| factor[i][k] * solved[k]).sum();
        solved[i] = (solved[i] - known) / factor[i][i];
    }
    for i in (0..P).rev() {
        let known: f64 = (i + 1..P).map(|k| factor[k][i] * solved[k]).sum();
        solved[i] = (solved[i] - known) / factor[i][i];
    }
    Some(std::array::from_fn(|i| solved[i] * scale[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values_give_their_parameters_back() {
        let truth = [100f64.ln(), 0.05, 0.002];
        let value = |cpus: f64| Value { cpus, log_rate: log_rate(&truth, cpus).unwrap() };
        let values: Vec<Value> = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0].map(value).into();
        let found = minimum::<3>(&values).unwrap();
        for (found, truth) in found.parameters.iter().zip(truth) {
            assert!((found - truth).abs() < 1e-9, "{found} {truth}");
        }
        assert!(found.squares < 1e-18);
    }

    #[test]
    fn one_number_of_cpus_has_no_minimum() {
        let values = vec![Value { cpus: 4.0, log_rate: 1.0 }; 5];
        assert!(minimum::<2>(&values).is_none());
    }

    #[test]
    fn a_system_is_solved() {
        let solved = solve(&[[4.0, 2.0], [2.0, 3.0]], &[10.0, 9.0]).unwrap();
        assert!((solved[0] - 1.5).abs() < 1e-12 && (solved[1] - 2.0).abs() < 1e-12);
    }
}
