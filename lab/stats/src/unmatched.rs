//! Parts of two sides that are not compared, as data.

use crate::json::not_a_number_when_null;
use crate::scaling::FitError;
use faultline_record::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A series, or a part of one, that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Unmatched {
    /// Name of the case, without its number of tasks.
    pub name: String,
    /// Number of tasks, if it has one.
    pub tasks: Option<u32>,
    /// The measure, if it is not the main figure.
    pub measure: Option<String>,
    /// The reason why it is not compared.
    #[serde(flatten)]
    pub reason: UnmatchedReason,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Letter {
    /// The first.
    A,
    /// The second.
    B,
}

/// Reason why something is not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
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
    /// The sides disagree about the better direction.
    DirectionsDiffer,
    /// The better direction is unknown.
    DirectionUnknown,
    /// A side has no value.
    NoValue {
        /// The side without a value.
        side: Letter,
        /// The first failure there, if any.
        failure: Option<Failure>,
    },
    /// A side has a value without a usable ratio.
    NoRatio {
        /// The side with the value.
        side: Letter,
        /// The value; `null` in JSON if it is not finite.
        #[serde(deserialize_with = "not_a_number_when_null")]
        #[schemars(with = "Option<f64>")]
        value: f64,
        /// The smallest value with a usable ratio.
        least: f64,
        /// The largest value with a usable ratio.
        greatest: f64,
    },
    /// The two runs of a block are of different boots; all other blocks are compared.
    SplitBlock {
        /// The block, from 0.
        block: u32,
    },
    /// No scaling law fits the case; its workloads are compared.
    NoLaw {
        /// The reason.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_survives_json() {
        let law = UnmatchedReason::NoLaw { why: FitError::Unsettled };
        let law = Unmatched { name: "x".into(), tasks: None, measure: None, reason: law };
        let json = serde_json::to_string(&law).unwrap();
        assert!(json.ends_with(r#""reason":"no-law","why":{"problem":"unsettled"}}"#), "{json}");
        assert_eq!(serde_json::from_str::<Unmatched>(&json).unwrap(), law);
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
