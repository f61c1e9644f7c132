//! Two fits of one law compared, parameter by parameter.

use super::fit::student;
use crate::scaling::{FitError, Move, Parameter, ParameterChange, ScalingComparison, ScalingFit};
use crate::two_sample::holm;
use crate::workload_comparison::Bounded;
use statrs::distribution::ContinuousCDF;

/// Compares parameters by Welch's test on their standard errors, with Holm's correction for their
/// number. `level` as in a comparison. Fails if the fits are of different laws, or if the level is
/// out of range.
pub fn compare(a: &ScalingFit, b: &ScalingFit, level: f64) -> Result<ScalingComparison, FitError> {
    if a.law != b.law {
        return Err(FitError::DifferentLaws);
    }
    if !(level > 0.5 && level < 1.0) {
        return Err(FitError::Level { level });
    }
    let degrees = (f64::from(a.degrees), f64::from(b.degrees));
    let of = |kind: Kind, a: &Parameter, b: &Parameter| Pair::new(kind, a, b, degrees);
    let mut pairs = vec![of(Kind::Rate, &a.one_cpu, &b.one_cpu), of(Kind::Share, &a.serial, &b.serial)];
    pairs.extend(a.coherence.as_ref().zip(b.coherence.as_ref()).map(|(a, b)| of(Kind::Share, a, b)));
    if !pairs.iter().all(Pair::is_finite) {
        return Err(FitError::Unsettled);
    }
    let chances: Vec<f64> = pairs.iter().map(Pair::chance).collect();
    let decisions = holm(&chances, 1.0 - level);
    let changes: Vec<ParameterChange> =
        pairs.iter().zip(decisions).map(|(pair, decision)| pair.change(decision.rejected, decision.alpha)).collect();
    if !changes.iter().all(|change| change.difference.low.is_finite() && change.difference.high.is_finite()) {
        return Err(FitError::Unsettled);
    }
    Ok(ScalingComparison { law: a.law, one_cpu: changes[0], serial: changes[1], coherence: changes.get(2).copied() })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Compared as a ratio.
    Rate,
    /// Compared as a difference.
    Share,
}

struct Pair {
    kind: Kind,
    a: f64,
    b: f64,
    /// Difference of the logarithms for a rate.
    difference: f64,
    error: f64,
    degrees: f64,
}

impl Pair {
    fn new(kind: Kind, a: &Parameter, b: &Parameter, degrees: (f64, f64)) -> Self {
        let (square_a, square_b) = (a.error * a.error, b.error * b.error);
        let square = square_a + square_b;
        let pooled = square_a * square_a / degrees.0 + square_b * square_b / degrees.1;
        let (a, b) = (a.bounded.value, b.bounded.value);
        Pair {
            kind,
            a,
            b,
            difference: if kind == Kind::Rate { (b / a).ln() } else { b - a },
            error: square.sqrt(),
            degrees: if pooled > 0.0 { square * square / pooled } else { degrees.0 + degrees.1 },
        }
    }

    /// True if it can be tested; squares of errors may overflow.
    fn is_finite(&self) -> bool {
        [self.difference, self.error, self.degrees].iter().all(|figure| figure.is_finite())
    }

    fn chance(&self) -> f64 {
        match (self.difference == 0.0, self.error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 2.0 * student(self.degrees).cdf(-(self.difference / self.error).abs()),
        }
    }

    fn change(&self, rejected: bool, alpha: f64) -> ParameterChange {
        let width = self.error * student(self.degrees).inverse_cdf(1.0 - alpha / 2.0);
        let ends = [self.difference, self.difference - width, self.difference + width];
        let [value, low, high] = if self.kind == Kind::Rate { ends.map(f64::exp) } else { ends };
        let change = match rejected {
            false => Move::NoDifference,
            true if self.difference < 0.0 => Move::Fell,
            true => Move::Rose,
        };
        let difference = Bounded { value, low, high, level: 1.0 - alpha };
        ParameterChange { a: self.a, b: self.b, difference, p: self.chance(), change }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit::fit;
    use super::super::points::Point;
    use super::*;
    use crate::scaling::Law;

    fn amdahl(one: f64, serial: f64) -> ScalingFit {
        let point = |cpus: u32| {
            let rate = one * f64::from(cpus) / (1.0 + serial * f64::from(cpus - 1));
            Point { cpus, rates: vec![rate * 1.02, rate, rate * 0.98] }
        };
        fit(&[1, 2, 4, 8, 16].map(point), Law::Amdahl, 0.95).unwrap()
    }

    #[test]
    fn contention_fell_and_the_rest_stayed() {
        let comparison = compare(&amdahl(100.0, 0.21), &amdahl(100.0, 0.08), 0.95).unwrap();
        assert_eq!((comparison.serial.change, comparison.one_cpu.change), (Move::Fell, Move::NoDifference));
        assert!(comparison.serial.difference.high < 0.0 && comparison.coherence.is_none());
        let back = compare(&amdahl(100.0, 0.08), &amdahl(100.0, 0.21), 0.95).unwrap();
        assert_eq!(back.serial.change, Move::Rose);
        assert!((back.serial.difference.high + comparison.serial.difference.low).abs() < 1e-12);
    }

    #[test]
    fn the_rate_of_one_cpu_is_a_ratio() {
        let comparison = compare(&amdahl(100.0, 0.1), &amdahl(150.0, 0.1), 0.95).unwrap();
        assert_eq!(comparison.one_cpu.change, Move::Rose);
        assert!((comparison.one_cpu.difference.value - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_fit_beside_itself_differs_in_nothing() {
        let one = amdahl(100.0, 0.1);
        let comparison = compare(&one, &one, 0.95).unwrap();
        assert_eq!((comparison.serial.p, comparison.serial.change), (1.0, Move::NoDifference));
    }
}
