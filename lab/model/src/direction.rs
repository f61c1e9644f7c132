//! Whether higher or lower values are better. Units are plain text (`fault/s`), shown and never converted.

use serde::{Deserialize, Serialize};

/// Whether higher or lower values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
