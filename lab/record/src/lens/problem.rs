//! Reasons why counts are incomplete, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reason why the counts are incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Problem {
    /// No begin mark was executed, so nothing was counted.
    NoMark,
    /// No counted process called the function that ends a region, so the count goes to the end of
    /// the run.
    EndNotReached {
        /// Name of the function.
        function: String,
    },
    /// Processes that the program started outlived it, and were killed.
    LeftProcesses,
    /// The guest's agent could not record the files that the program's processes mapped, so names
    /// may be missing.
    NoMappings {
        /// The reason, in the agent's words.
        reason: String,
    },
}

impl Problem {
    /// The `kind` in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::NoMark => "no_mark",
            Problem::EndNotReached { .. } => "end_not_reached",
            Problem::LeftProcesses => "left_processes",
            Problem::NoMappings { .. } => "no_mappings",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Problem {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_kind_in_json_is_its_word() {
        let reason = "no events".to_owned();
        let not_reached = Problem::EndNotReached { function: "work".to_owned() };
        for problem in [Problem::NoMark, not_reached, Problem::LeftProcesses, Problem::NoMappings { reason }] {
            let json = serde_json::to_value(&problem).unwrap();
            assert_eq!(json["kind"], problem.kind());
            assert_eq!(read(&json.to_string()), problem);
        }
    }
}
