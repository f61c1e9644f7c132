//! Reasons why counts are less than was asked for, as data.

use serde::{Deserialize, Serialize};

/// A reason why the counts are less than was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Problem {
    /// No begin mark was executed, so nothing was counted.
    NoMark,
    /// Processes that the program started went on after it, and were killed.
    LeftProcesses,
    /// The guest's agent could not record what the program's processes mapped, so names may be missing.
    NoMappings {
        /// Why not, in the agent's words.
        reason: String,
    },
    /// Recorded by an older version, as a sentence.
    #[serde(untagged)]
    #[cfg_attr(feature = "typescript", ts(untagged, type = "{ kind: string, words: string }"))]
    Older {
        /// One of the kinds above, or `too_many_threads`, `stall`, `forks`.
        kind: String,
        /// The sentence.
        #[serde(alias = "text")]
        words: String,
    },
}

impl Problem {
    /// The `kind` in JSON.
    pub fn kind(&self) -> &str {
        match self {
            Problem::NoMark => "no_mark",
            Problem::LeftProcesses => "left_processes",
            Problem::NoMappings { .. } => "no_mappings",
            Problem::Older { kind, .. } => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::said::Said;

    fn read(json: &str) -> Problem {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_kind_in_json_is_its_word() {
        let reason = "no events".to_owned();
        for problem in [Problem::NoMark, Problem::LeftProcesses, Problem::NoMappings { reason }] {
            let json = serde_json::to_value(&problem).unwrap();
            assert_eq!(json["kind"], problem.kind());
            assert_eq!(read(&json.to_string()), problem);
        }
    }

    #[test]
    fn what_older_versions_saved_is_read() {
        assert_eq!(read(r#"{"kind":"no_mark","text":"nothing was counted; `--whole` counts all"}"#), Problem::NoMark);
        assert_eq!(read(r#"{"kind":"left_processes","text":"they were killed"}"#), Problem::LeftProcesses);
        let older = |kind: &str, words: &str| Problem::Older { kind: kind.to_owned(), words: words.to_owned() };
        let stall = read(r#"{"kind":"stall","text":"CPU 1 stood still"}"#);
        assert_eq!((&stall, stall.kind()), (&older("stall", "CPU 1 stood still"), "stall"));
        let unnamed = read(r#"{"kind":"no_mappings","text":"names may be missing: no events"}"#);
        assert_eq!(unnamed, older("no_mappings", "names may be missing: no events"));
        let said = Said { what: stall.clone(), text: Some("words".to_owned()) };
        let json = serde_json::to_string(&said).unwrap();
        assert_eq!(json, r#"{"kind":"stall","words":"CPU 1 stood still","text":"words"}"#);
        assert_eq!(serde_json::from_str::<Said<Problem>>(&json).unwrap().what, stall);
    }
}
