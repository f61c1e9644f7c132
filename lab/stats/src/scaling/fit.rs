//! Fits Amdahl's law and the Universal Scalability Law to a curve, with intervals.
//!
//! Sources: G. M. Amdahl, Validity of the Single Processor Approach to Achieving Large Scale
//! Computing Capabilities, AFIPS 1967; N. J. Gunther, Guerrilla Capacity Planning, 2007, ch. 4 to
//! 6.

use super::least_squares::{Matrix, Minimum, log_rate, minimum};
use super::peak::peak;
use super::points::{Point, Value, values};
use crate::scaling::{FitCaution, FitError, Law, Parameter, Peak, Scaling, ScalingFit};
use crate::thresholds::MISFIT_LEVEL;
use crate::workload_comparison::Bounded;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// Fits both laws, and chooses the one to report. Intervals have coverage `level`. Fails if
/// Amdahl's law cannot be fitted; see [`fit`].
pub fn scaling(points: &[Point], level: f64) -> Result<Scaling, FitError> {
    let amdahl = fit(points, Law::Amdahl, level)?;
    let universal = match fit(points, Law::Universal, level) {
        Ok(fit) => Some(fit),
        Err(FitError::FewPoints { .. } | FitError::FewValues { .. } | FitError::Unsettled) => None,
        Err(error) => return Err(error),
    };
    let beyond_doubt = universal.as_ref().and_then(|fit| fit.coherence).is_some_and(|kappa| kappa.bounded.low > 0.0);
    Ok(Scaling { amdahl, universal, chosen: if beyond_doubt { Law::Universal } else { Law::Amdahl } })
}

/// Fits one law. Fails if there are too few points or values, if a value is not a positive rate, if
/// the level is out of range, or if no minimum is found.
pub fn fit(points: &[Point], law: Law, level: f64) -> Result<ScalingFit, FitError> {
    if !(level > 0.5 && level < 1.0) {
        return Err(FitError::Level { level });
    }
    match law {
        Law::Amdahl => fitted::<2>(points, law, level),
        Law::Universal => fitted::<3>(points, law, level),
    }
}

fn fitted<const P: usize>(points: &[Point], law: Law, level: f64) -> Result<ScalingFit, FitError> {
    let (values, distinct) = values(points, P)?;
    let found: Minimum<P> = minimum(&values).ok_or(FitError::Unsettled)?;
    let degrees = values.len() - P;
    let variance = found.squares / degrees as f64;
    let covariance: Matrix<P> = found.inverse.map(|row| row.map(|entry| entry * variance));
    let quantile = student(degrees as f64).inverse_cdf(0.5 + level / 2.0);
    let parameter = |i: usize| {
        let (value, error) = (found.parameters[i], covariance[i][i].sqrt());
        let bounded = Bounded { value, low: value - quantile * error, high: value + quantile * error, level };
        Parameter { bounded, error }
    };
    let in_full: Option<&Matrix<3>> = (&covariance as &dyn std::any::Any).downcast_ref();
    let greatest = values.iter().map(|value| value.cpus).fold(1.0, f64::max);
    let peak = in_full.and_then(|covariance| {
        let (cpus, low, high) = peak(found.parameters[1], found.parameters[2], covariance, quantile)?;
        let rate = log_rate(&found.parameters, cpus)?.exp();
        Some(Peak { cpus, low, high, rate, extrapolated: cpus > greatest })
    });
    let one_cpu = exponential(parameter(0));
    let parameters = [one_cpu].into_iter().chain((1..P).map(parameter));
    let ends = parameters.flat_map(|parameter| [parameter.bounded.low, parameter.bounded.high]);
    let at_peak = peak.iter().flat_map(|peak| [peak.cpus, peak.low, peak.high.unwrap_or(1.0), peak.rate]);
    if !ends.chain(at_peak).all(f64::is_finite) {
        return Err(FitError::Unsettled);
    }
    Ok(ScalingFit {
        law,
        one_cpu,
        serial: parameter(1),
        coherence: (P > 2).then(|| parameter(P - 1)),
        peak,
        noise: variance.sqrt(),
        degrees: degrees as u32,
        points: distinct as u32,
        cautions: cautions(&values, &found, distinct, quantile * covariance[1][1].sqrt()),
    })
}

pub(crate) fn student(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are above 0")
}

/// The rate, from a parameter that is its logarithm. The error remains that of the logarithm.
fn exponential(parameter: Parameter) -> Parameter {
    let Bounded { value, low, high, level } = parameter.bounded;
    Parameter { bounded: Bounded { value: value.exp(), low: low.exp(), high: high.exp(), level }, ..parameter }
}

fn cautions<const P: usize>(
    values: &[Value],
    found: &Minimum<P>,
    distinct: usize,
    serial_width: f64,
) -> Vec<FitCaution> {
    let told = [
        (FitCaution::FewPoints, distinct <= P + 1),
        (FitCaution::Misfit, misfit(values, found.squares, distinct, P).is_some_and(|chance| chance < MISFIT_LEVEL)),
        (FitCaution::Superlinear, found.parameters[1] + serial_width < 0.0),
    ];
    told.into_iter().filter_map(|(caution, given)| given.then_some(caution)).collect()
}

/// p-value of the lack of fit: the probability that points differ this much from the law, given the
/// noise of the repeats. `None` without repeats.
///
/// Source: N. R. Draper and H. Smith, Applied Regression Analysis, 3rd ed., 1998, ch. 2 (pure error
/// and lack of fit).
fn misfit(values: &[Value], squares: f64, distinct: usize, parameters: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.cpus.total_cmp(&b.cpus));
    let within = |group: &[Value]| {
        let mean = group.iter().map(|value| value.log_rate).sum::<f64>() / group.len() as f64;
        group.iter().map(|value| (value.log_rate - mean).powi(2)).sum::<f64>()
    };
    let pure: f64 = sorted.chunk_by(|a, b| a.cpus == b.cpus).map(within).sum();
    let (lack, repeats) = (distinct.checked_sub(parameters)?, values.len() - distinct);
    if lack == 0 || repeats == 0 || pure <= 0.0 {
        return None;
    }
    let ratio = ((squares - pure).max(0.0) / lack as f64) / (pure / repeats as f64);
    Some(FisherSnedecor::new(lack as f64, repeats as f64).ok()?.sf(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rates of a law, alternately a little above and below it.
    fn curve(one: f64, serial: f64, coherence: f64, off: f64) -> Vec<Point> {
        let point = |cpus: u32| {
            let n = f64::from(cpus);
            let rate = one * n / (1.0 + serial * (n - 1.0) + coherence * n * (n - 1.0));
            Point { cpus, rates: [1.0, 1.0 + off, 1.0 - off].map(|factor| factor * rate).into() }
        };
        [1, 2, 4, 8, 16, 32, 48, 64].map(point).into()
    }

    #[test]
    fn a_curve_with_coherence_is_universal_and_has_a_peak() {
        let found = scaling(&curve(1000.0, 0.03, 0.001, 0.01), 0.95).unwrap();
        let universal = found.universal.unwrap();
        assert_eq!(found.chosen, Law::Universal);
        assert!((universal.serial.bounded.value - 0.03).abs() < 1e-3);
        let peak = universal.peak.unwrap();
        assert!((peak.cpus - 970f64.sqrt()).abs() < 0.5 && !peak.extrapolated && peak.low < peak.cpus);
        assert!(universal.cautions.is_empty() && found.amdahl.cautions == [FitCaution::Misfit]);
    }

    #[test]
    fn a_curve_without_is_amdahls() {
        let found = scaling(&curve(1000.0, 0.1, 0.0, 0.01), 0.95).unwrap();
        assert_eq!(found.chosen, Law::Amdahl);
        assert!((found.amdahl.serial.bounded.value - 0.1).abs() < 1e-3 && found.amdahl.peak.is_none());
    }

    #[test]
    fn few_points_and_gains_above_the_own_are_reported() {
        let few = &curve(10.0, 0.1, 0.0, 0.01)[..3];
        assert!(fit(few, Law::Amdahl, 0.95).unwrap().cautions.contains(&FitCaution::FewPoints));
        let superlinear = fit(&curve(10.0, -0.005, 0.0, 0.001), Law::Amdahl, 0.95).unwrap();
        assert_eq!(superlinear.cautions, [FitCaution::Superlinear]);
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        let points = curve(10.0, 0.1, 0.0, 0.01);
        assert_eq!(fit(&points[..2], Law::Universal, 0.95), Err(FitError::FewPoints { found: 2, needed: 3 }));
        let bad = [Point { cpus: 1, rates: vec![-1.0] }];
        assert_eq!(fit(&bad, Law::Amdahl, 0.95), Err(FitError::NotARate { rate: -1.0, cpus: 1 }));
        assert_eq!(fit(&points, Law::Amdahl, 1.0), Err(FitError::Level { level: 1.0 }));
    }

    proptest! {
        #[test]
        fn another_unit_changes_the_rate_of_one_cpu_alone(serial in 0.0f64..0.5, coherence in 0.0f64..0.01, power in -20i32..20) {
            let plain = fit(&curve(1.0, serial, coherence, 0.02), Law::Universal, 0.95).unwrap();
            let scaled = fit(&curve(2f64.powi(power), serial, coherence, 0.02), Law::Universal, 0.95).unwrap();
            prop_assert!((scaled.one_cpu.bounded.value / plain.one_cpu.bounded.value / 2f64.powi(power) - 1.0).abs() < 1e-6);
            prop_assert!((scaled.serial.bounded.value - plain.serial.bounded.value).abs() < 1e-6);
            prop_assert!((scaled.serial.error - plain.serial.error).abs() < 1e-6);
        }
    }
}
