//! Declared quirks: dated changes of the environment of a history, not of its commits.

use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// A declared change of the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredQuirk {
    /// Description of the change. It comes from outside: it may hold any character.
    pub what: String,
    /// Time of the change, or the affected commits.
    pub when: QuirkTime,
}

/// Time of a change of the environment, or the affected commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum QuirkTime {
    /// All measurements from this time on have the new environment.
    Since {
        /// The time.
        at: UnixMillis,
    },
    /// These commits have another environment than the rest, regardless of the time of measurement.
    Commits {
        /// Name of the first affected commit, or its first digits.
        first: String,
        /// Name of the last affected commit, or its first digits; `None` if all later ones are
        /// affected.
        last: Option<String>,
    },
}
