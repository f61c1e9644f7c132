//! The points of the curve to which a law is fitted.

use crate::scaling::FitError;

/// Values at one number of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// CPUs, from 1.
    pub cpus: u32,
    /// Throughput of each repeat, above 0. For a time, its reciprocal.
    pub rates: Vec<f64>,
}

/// One value: number of CPUs and logarithm of the rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) cpus: f64,
    pub(crate) log_rate: f64,
}

/// All values, and the number of different numbers of CPUs. Fails if there are too few of either
/// for `parameters`, or if a value is not a positive rate.
pub(crate) fn values(points: &[Point], parameters: usize) -> Result<(Vec<Value>, usize), FitError> {
    let mut values = Vec::new();
    let mut cpus: Vec<u32> = Vec::new();
    for point in points {
        for &rate in &point.rates {
            if point.cpus == 0 || !(rate.is_finite() && rate > 0.0) {
                return Err(FitError::NotARate { rate, cpus: point.cpus });
            }
            values.push(Value { cpus: f64::from(point.cpus), log_rate: rate.ln() });
            cpus.push(point.cpus);
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() < parameters {
        return Err(FitError::FewPoints { found: cpus.len() as u32, needed: parameters as u32 });
    }
    if values.len() <= parameters {
        return Err(FitError::FewValues { found: values.len() as u32, needed: parameters as u32 + 1 });
    }
    Ok((values, cpus.len()))
}
