//! What cannot be compared between two sides, as data.

use crate::failure::Failure;
use crate::json::not_a_number_when_null;
use crate::scaling::FitError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A series, or a part of one, that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Unmatched {
    /// Name of the case, without its number of tasks.
    pub name: String,
    /// Number of tasks, if it has one.
    pub tasks: Option<u32>,
    /// What was measured, if it is not the main figure.
    pub measure: Option<String>,
    /// Why it is not compared.
    #[serde(flatten)]
    pub reason: UnmatchedReason,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Letter {
    /// The first.
    A,
    /// The second.
    B,
}

/// Why something is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum UnmatchedReason {
    /// The other side does not have it.
    OneSideOnly {
        /// The side that has it.
        side: Letter,
    },
    /// The sides' units differ.
    UnitsDiffer {
        /// The units; empty if one is not known.
        units: [String; 2],
    },
    /// The sides don't agree on which way is better.
    DirectionsDiffer,
    /// It is not known whether higher or lower is better.
    DirectionUnknown,
    /// A side has no value.
    NoValue {
        /// That side.
        side: Letter,
        /// The first failure there, if there is one.
        failure: Option<Failure>,
    },
    /// A side has a value without a usable ratio.
    NoRatio {
        /// That side.
        side: Letter,
        /// The value; in JSON `null` when it is not finite.
        #[serde(deserialize_with = "not_a_number_when_null")]
        value: f64,
        /// The smallest value with a usable ratio.
        least: f64,
        /// The greatest.
        greatest: f64,
    },
    /// The two runs of a block are of different boots; all other blocks are compared.
    SplitBlock {
        /// The block, from 0.
        block: u32,
    },
    /// No scaling law fits the case; its workloads are compared.
    NoLaw {
        /// Why.
        why: FitError,
    },
}

impl Letter {
    /// `first` or `second`.
    pub fn ordinal(self) -> &'static str {
        match self {
            Letter::A => "first",
            Letter::B => "second",
        }
    }
}

/// One line for people: `zero_fill:base×4: on the first side only`.
impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.reason, UnmatchedReason::NoLaw { .. }) {
            f.write_str("law of scaling of ")?;
        }
        f.write_str(&self.name)?;
        if let Some(measure) = &self.measure {
            write!(f, " {measure}")?;
        }
        if let Some(tasks) = self.tasks {
            write!(f, "×{tasks}")?;
        }
        if let UnmatchedReason::SplitBlock { block } = self.reason {
            write!(f, ", block {}", u64::from(block) + 1)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// The reason, without the name.
impl fmt::Display for UnmatchedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnmatchedReason::OneSideOnly { side } => write!(f, "on the {} side only", side.ordinal()),
            UnmatchedReason::UnitsDiffer { units } => {
                let word = |unit: &String| if unit.is_empty() { "unknown".to_owned() } else { format!("'{unit}'") };
                let [a, b] = units.each_ref().map(word);
                write!(f, "the units differ: {a} and {b}")
            }
            UnmatchedReason::DirectionsDiffer => f.write_str("the sides disagree on which direction is better"),
            UnmatchedReason::DirectionUnknown => f.write_str("it is unknown which direction is better"),
            UnmatchedReason::NoValue { side, failure: None } => {
                write!(f, "the {} side has no value", side.ordinal())
            }
            UnmatchedReason::NoValue { side, failure: Some(failure) } => {
                write!(f, "the {} side has no value ({failure})", side.ordinal())
            }
            UnmatchedReason::NoRatio { side, value, least, greatest } => {
                write!(f, "the {} side has the value ", side.ordinal())?;
                match value.is_finite() && *value > 0.0 {
                    true => write!(f, "{value:e}: ratios need values from {least:e} to {greatest:e}"),
                    false => write!(f, "{value}: ratios need finite values above 0"),
                }
            }
            UnmatchedReason::SplitBlock { .. } => f.write_str("its two runs belong to different boots"),
            UnmatchedReason::NoLaw { why } => why.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_words() {
        let words =
            |reason| Unmatched { name: "x".into(), tasks: Some(2), measure: Some("idle".into()), reason }.to_string();
        assert_eq!(words(UnmatchedReason::OneSideOnly { side: Letter::B }), "x idle×2: on the second side only");
        let block = UnmatchedReason::SplitBlock { block: 5 };
        assert_eq!(words(block), "x idle×2, block 6: its two runs belong to different boots");
        let units = UnmatchedReason::UnitsDiffer { units: ["s".into(), String::new()] };
        assert_eq!(words(units), "x idle×2: the units differ: 's' and unknown");
        let hung = Failure { block: None, cause: crate::failure::FailureCause::Told { words: "hung".into() } };
        let reason = UnmatchedReason::NoValue { side: Letter::A, failure: Some(hung) };
        assert_eq!(words(reason), "x idle×2: the first side has no value (hung)");
        let law = UnmatchedReason::NoLaw { why: FitError::Unsettled };
        let law = Unmatched { name: "x".into(), tasks: None, measure: None, reason: law };
        let json = serde_json::to_string(&law).unwrap();
        assert!(json.ends_with(r#""reason":"no-law","why":{"problem":"unsettled"}}"#), "{json}");
        assert_eq!(serde_json::from_str::<Unmatched>(&json).unwrap(), law);
        assert_eq!(law.to_string(), "law of scaling of x: the fit of the law does not converge for these values");
    }

    #[test]
    fn a_value_that_is_no_number_survives_json_as_such() {
        let reason = UnmatchedReason::NoRatio { side: Letter::B, value: f64::INFINITY, least: 1e-150, greatest: 1e150 };
        let one = Unmatched { name: "x".into(), tasks: Some(1), measure: None, reason };
        let json = serde_json::to_string(&one).unwrap();
        assert!(json.contains(r#""tasks":1,"measure":null,"reason":"no-ratio","side":"b","value":null"#), "{json}");
        let back: Unmatched = serde_json::from_str(&json).unwrap();
        assert!(matches!(back.reason, UnmatchedReason::NoRatio { value, .. } if value.is_nan()));
    }
}
