//! Executions that gave no figure, and why, as data.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// An execution without a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Failure {
    /// The block that it belongs to, from 0; `None` if it has none, such as a run of another tool.
    pub block: Option<u32>,
    /// Why there is no figure.
    #[serde(flatten)]
    pub cause: FailureCause,
}

/// Why an execution gave no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum FailureCause {
    /// It did not succeed.
    Ended {
        /// How it ended.
        outcome: Outcome,
    },
    /// It succeeded, but its output contains no figure.
    NoFigure,
    /// It succeeded, but counted no operation.
    NoOperation,
    /// It succeeded, but the lens left no report.
    NoReport,
    /// Another tool reports the failure.
    Told {
        /// What that tool reports.
        words: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_its_outcome_in_json() {
        let cause = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1500 } };
        let failure = Failure { block: Some(0), cause };
        let json = serde_json::to_string(&failure).unwrap();
        assert_eq!(json, r#"{"block":0,"cause":"ended","outcome":{"kind":"timed_out","limit_ms":1500}}"#);
        assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), failure);
    }
}
