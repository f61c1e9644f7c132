//! Scaling laws fitted to a curve, and two fits compared. Computed by `stats`, shown by `report`.

use crate::json::not_a_number_when_null;
use crate::workload_comparison::Bounded;
use serde::{Deserialize, Serialize};

/// A law of throughput over the number of CPUs n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// Amdahl's: λn / (1 + σ(n − 1)).
    Amdahl,
    /// Gunther's Universal Scalability Law: λn / (1 + σ(n − 1) + κn(n − 1)).
    Universal,
}

/// Why no law can be fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum FitError {
    /// Fewer numbers of CPUs than parameters.
    #[error("{found} numbers of CPUs have values, the law needs {needed}")]
    FewPoints {
        /// Numbers of CPUs with a value.
        found: u32,
        /// Needed.
        needed: u32,
    },
    /// There are not more values than parameters, so the error cannot be estimated.
    #[error("there are {found} values, an interval needs {needed}")]
    FewValues {
        /// Values.
        found: u32,
        /// Needed.
        needed: u32,
    },
    /// A value that is not a throughput.
    #[error("a rate of {rate} at {cpus} CPUs: rates have to be finite and above 0, on 1 CPU or more")]
    NotARate {
        /// The value; in JSON `null` when it is not finite.
        #[serde(deserialize_with = "not_a_number_when_null")]
        rate: f64,
        /// Its number of CPUs.
        cpus: u32,
    },
    /// No minimum was found, or it is beyond all numbers.
    #[error("the fit of the law does not converge for these values")]
    Unsettled,
    /// The two fits are of different laws.
    #[error("the two fits are of different laws")]
    DifferentLaws,
    /// A level outside its range.
    #[error("the level {level} is not between 0.5 and 1")]
    Level {
        /// The level.
        #[serde(deserialize_with = "not_a_number_when_null")]
        level: f64,
    },
}

/// A parameter that was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its estimate and interval. If the interval reaches below 0, the parameter is not significantly different from 0.
    #[serde(flatten)]
    pub bounded: Bounded,
    /// Standard error: of the logarithm for the rate of one CPU, otherwise of the value.
    pub error: f64,
}

/// Where throughput is greatest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Number of CPUs.
    pub cpus: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end. `None` if the data do not bound it.
    pub high: Option<f64>,
    /// Throughput there, in the curve's unit.
    pub rate: f64,
    /// Whether it is beyond the greatest number of CPUs that was measured, and so follows from the law alone.
    pub extrapolated: bool,
}

/// What a fit's warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitCaution {
    /// There is at most one number of CPUs more than the law has parameters.
    FewPoints,
    /// Points differ from the law by more than repeats differ.
    Misfit,
    /// A share below 0: added CPUs contribute more than themselves.
    Superlinear,
}

/// A law fitted to a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingFit {
    /// The law.
    pub law: Law,
    /// λ: throughput of one CPU, in the curve's unit.
    pub one_cpu: Parameter,
    /// σ (contention): share of the work that is serial, or waits for serial work.
    pub serial: Parameter,
    /// κ (coherency): cost of keeping pairs of CPUs coherent, as a share of the work. `None` for Amdahl's law.
    pub coherence: Option<Parameter>,
    /// Where throughput is greatest; `None` if it grows without bound.
    pub peak: Option<Peak>,
    /// Standard deviation of the values about the law, as a share of it.
    pub noise: f64,
    /// Degrees of freedom: values minus parameters.
    pub degrees: u32,
    /// Numbers of CPUs.
    pub points: u32,
    /// Reasons to trust it less.
    pub cautions: Vec<FitCaution>,
}

/// Both laws on one curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Amdahl's law.
    pub amdahl: ScalingFit,
    /// The Universal Scalability Law; `None` if there are too few numbers of CPUs.
    pub universal: Option<ScalingFit>,
    /// The law to report: the universal one if the interval of its coherency is above 0, otherwise Amdahl's.
    pub chosen: Law,
}

/// Which way a parameter went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// It is smaller on the second side.
    Fell,
    /// It is greater on the second side.
    Rose,
    /// No difference was detected.
    NoDifference,
}

/// A parameter on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ParameterChange {
    /// On the first side.
    pub a: f64,
    /// On the second.
    pub b: f64,
    /// Second minus first; for the rate of one CPU second divided by first.
    pub difference: Bounded,
    /// p-value: probability of a difference at least as great if the sides are equal.
    pub p: f64,
    /// The answer, corrected for the number of parameters.
    pub change: Move,
}

/// Two fits of one law compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ScalingComparison {
    /// The law.
    pub law: Law,
    /// λ.
    pub one_cpu: ParameterChange,
    /// σ.
    pub serial: ParameterChange,
    /// κ.
    pub coherence: Option<ParameterChange>,
}
