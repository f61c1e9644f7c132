//! Better direction of values. Units are plain text (`fault/s`), shown and never converted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Better direction of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Higher is better: rates.
    Higher,
    /// Lower is better: times.
    Lower,
}

impl Direction {
    /// The word used in files: `higher` or `lower`.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        }
    }

    /// The direction for a word of [`Direction::word`].
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "higher" => Some(Direction::Higher),
            "lower" => Some(Direction::Lower),
            _ => None,
        }
    }
}

/// Effect of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Values are better after it.
    Better,
    /// Values are worse after it.
    Worse,
}
