//! Reverts: a commit that made a step is undone on top of a newer commit, and both are measured together.

use super::{Change, Unusable};
use serde::{Deserialize, Serialize};

/// What undoing the commit of a step tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReverted {
    /// The name of the commit on top of which it is undone.
    pub on: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: RevertOutcome,
}

/// What came of a revert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RevertOutcome {
    /// It was measured beside the commit without it.
    Measured {
        /// The value with it, divided by the value without it; `None` of too few values, or if that was 0.
        change: Option<Change>,
        /// The values without and with it, if values are exact.
        values: Option<[f64; 2]>,
        /// The part of the step that it takes back; `None` of too few values.
        taken_back: Option<Share>,
    },
    /// It does not apply.
    Conflict {
        /// The files with conflicts, as git writes them. They come from outside: they may hold any character.
        files: Vec<String>,
    },
    /// It changes no file.
    Empty,
    /// It applies, but cannot be built.
    NotBuilt {
        /// How it failed, in words.
        how: String,
    },
    /// It is built, but cannot be measured.
    NotRun {
        /// Why.
        why: Unusable,
    },
    /// The commit on top of which it is undone cannot be measured.
    NothingToCompare,
}

/// A part of a whole, with its confidence interval: 1 is all of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The estimate.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}
