//! Executions without a figure, and the reasons, as data.

use crate::outcome::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An execution without a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Failure {
    /// The execution's block, from 0; `None` without a block, as in a run of another tool.
    pub block: Option<u32>,
    /// Reason why the execution gave no figure.
    #[serde(flatten)]
    pub cause: FailureCause,
}

/// Reason why an execution gave no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum FailureCause {
    /// The execution did not succeed.
    Ended {
        /// Outcome of the execution.
        outcome: Outcome,
    },
    /// The execution succeeded, but its output contains no figure.
    NoFigure,
    /// The execution succeeded, but counted no operation.
    NoOperation,
    /// The execution succeeded, but the lens left no report.
    NoReport,
    /// Another tool reports the failure.
    Told {
        /// The report, in that tool's words.
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
