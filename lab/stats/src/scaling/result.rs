//! Scaling laws fitted to a curve, and two fits compared. Computed by `stats`, shown by `report`.

use crate::json::not_a_number_when_null;
use crate::workload_comparison::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A law of throughput over the number of CPUs n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// Amdahl's: λn / (1 + σ(n − 1)).
    Amdahl,
    /// Gunther's Universal Scalability Law: λn / (1 + σ(n − 1) + κn(n − 1)).
    Universal,
}

/// Reason why no law can be fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error, JsonSchema, ts_rs::TS)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum FitError {
    /// Fewer numbers of CPUs than parameters.
    #[error("{found} numbers of CPUs have values, the law needs {needed}")]
    FewPoints {
        /// Number of CPU counts with a value.
        found: u32,
        /// Number needed.
        needed: u32,
    },
    /// There are not more values than parameters, so the error cannot be estimated.
    #[error("there are {found} values, an interval needs {needed}")]
    FewValues {
        /// Number of values.
        found: u32,
        /// Number needed.
        needed: u32,
    },
    /// A value that is not a throughput.
    #[error("a rate of {rate} at {cpus} CPUs: rates have to be finite and above 0, on 1 CPU or more")]
    NotARate {
        /// The value; `null` in JSON if it is not finite.
        #[serde(deserialize_with = "not_a_number_when_null")]
        #[schemars(with = "Option<f64>")]
        rate: f64,
        /// Its number of CPUs.
        cpus: u32,
    },
    /// No minimum was found, or it is not finite.
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
        #[schemars(with = "Option<f64>")]
        level: f64,
    },
}

/// A parameter that was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Its estimate and interval. If the interval reaches below 0, the parameter is not
    /// significantly different from 0.
    #[serde(flatten)]
    pub bounded: Bounded,
    /// Standard error: of the logarithm for the rate of one CPU, otherwise of the value.
    pub error: f64,
}

/// The peak of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Number of CPUs.
    pub cpus: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end. `None` if the data do not bound it.
    pub high: Option<f64>,
    /// Throughput there, in the curve's unit.
    pub rate: f64,
    /// True if it is beyond the largest measured number of CPUs, so that it follows from the law
    /// alone.
    pub extrapolated: bool,
}

/// Kind of a fit's warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FitCaution {
    /// At most one number of CPUs more than the law has parameters.
    FewPoints,
    /// Points differ from the law by more than repeats differ.
    Misfit,
    /// A share below 0: added CPUs contribute more than themselves.
    Superlinear,
}

/// A law fitted to a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingFit {
    /// The law.
    pub law: Law,
    /// λ: throughput of one CPU, in the curve's unit.
    pub one_cpu: Parameter,
    /// σ (contention): share of the work that is serial, or waits for serial work.
    pub serial: Parameter,
    /// κ (coherency): cost of keeping pairs of CPUs coherent, as a share of the work. `None` for
    /// Amdahl's law.
    pub coherence: Option<Parameter>,
    /// The peak of the throughput; `None` if throughput grows without bound.
    pub peak: Option<Peak>,
    /// Standard deviation of the values around the law, as a share of it.
    pub noise: f64,
    /// Degrees of freedom: values minus parameters.
    pub degrees: u32,
    /// Number of different CPU counts.
    pub points: u32,
    /// Reasons to trust the fit less.
    pub cautions: Vec<FitCaution>,
}

/// Both laws on one curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Amdahl's law.
    pub amdahl: ScalingFit,
    /// The Universal Scalability Law; `None` if there are too few numbers of CPUs.
    pub universal: Option<ScalingFit>,
    /// The law to report: the universal one if the interval of its coherency is above 0, otherwise
    /// Amdahl's.
    pub chosen: Law,
}

/// Direction of a parameter's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// Smaller on the second side.
    Fell,
    /// Greater on the second side.
    Rose,
    /// No difference was detected.
    NoDifference,
}

/// A parameter on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ParameterChange {
    /// Value on the first side.
    pub a: f64,
    /// Value on the second side.
    pub b: f64,
    /// Second minus first; for the rate of one CPU second divided by first.
    pub difference: Bounded,
    /// p-value: probability of a difference at least as great if the sides are equal.
    pub p: f64,
    /// The answer, corrected for the number of parameters.
    pub change: Move,
}

/// Two fits of one law compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
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
