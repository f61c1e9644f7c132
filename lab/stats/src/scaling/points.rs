//! The curve that a law is fitted to.

/// Values at one number of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// CPUs, from 1.
    pub cpus: u32,
    /// Throughput of each repeat, above 0. For a time, its reciprocal.
    pub rates: Vec<f64>,
}

/// Why no law can be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Fewer numbers of CPUs than parameters.
    #[error("{found} numbers of CPUs have values, the law needs {needed}")]
    FewPoints {
        /// Numbers of CPUs with a value.
        found: usize,
        /// Needed.
        needed: usize,
    },
    /// No value more than parameters: nothing tells how far off they may be.
    #[error("there are {found} values, an interval needs {needed}")]
    FewValues {
        /// Values.
        found: usize,
        /// Needed.
        needed: usize,
    },
    /// No throughput.
    #[error("a rate of {rate} at {cpus} CPUs: rates have to be finite and above 0, on 1 CPU or more")]
    NotARate {
        /// The value.
        rate: f64,
        /// Its number of CPUs.
        cpus: u32,
    },
    /// No minimum was found, or one beyond all numbers.
    #[error("the law doesn't settle on these values")]
    Unsettled,
    /// Fits of two laws.
    #[error("the two fits are of different laws")]
    DifferentLaws,
    /// A level that is none.
    #[error("the level is {0}: it has to lie between 0.5 and 1")]
    Level(f64),
}

/// One value: CPUs and logarithm of its rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) cpus: f64,
    pub(crate) log_rate: f64,
}

/// All values, and how many numbers of CPUs they are of. Refuses too few of either for `parameters`.
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
        return Err(FitError::FewPoints { found: cpus.len(), needed: parameters });
    }
    if values.len() <= parameters {
        return Err(FitError::FewValues { found: values.len(), needed: parameters + 1 });
    }
    Ok((values, cpus.len()))
}
