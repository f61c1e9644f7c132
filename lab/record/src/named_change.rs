//! The name of a change of a history. It stays valid although more measured commits may move the
//! change.

use crate::direction::Effect;
use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of a series of a history, independent of the runs that measured it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesName {
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository, as it is saved.
    pub repository: String,
    /// Number of concurrent copies of the command, or of its threads.
    pub tasks: u32,
    /// The quantity that is measured.
    pub quantity: Quantity,
    /// A digest of the conditions that all results of the series share: recipe, command, measure,
    /// machine.
    pub conditions: String,
}

/// The place of a change at the time of a statement about it, by names of commits. More measured
/// commits may move the change within its range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePlace {
    /// The last commit before the range.
    pub earliest: String,
    /// The estimated first commit with the new level.
    pub by: String,
    /// The last commit of the range.
    pub latest: String,
    /// Effect of the change on the program.
    pub effect: Effect,
    /// The levels before and after the change.
    pub levels: [f64; 2],
}

/// Maximum ratio of the sizes of two changes that are considered equal.
const MOST_RESIZED: f64 = 1.5;

impl ChangePlace {
    /// True if a change between these levels may be this one, by its size.
    pub fn may_be_between(&self, levels: [f64; 2]) -> bool {
        are_similar(self.levels, levels)
    }
}

/// True for two changes of about equal size: as ratios, or as differences if a level is 0.
fn are_similar(one: [f64; 2], other: [f64; 2]) -> bool {
    let has_ratios = one.iter().chain(&other).all(|level| *level > 0.0);
    let size = |[from, to]: [f64; 2]| if has_ratios { (to / from).ln().abs() } else { (to - from).abs() };
    let (one, other) = (size(one), size(other));
    one.max(other) <= MOST_RESIZED * one.min(other)
}

/// A change of a series, with its place at the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedChange {
    /// The series.
    #[serde(flatten)]
    pub series: SeriesName,
    /// The place of the change.
    pub place: ChangePlace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_compared_as_ratios_and_from_0_as_differences() {
        assert!(are_similar([10.0, 11.0], [20.0, 22.6]));
        assert!(!are_similar([10.0, 11.0], [10.0, 11.6]) && !are_similar([10.0, 11.6], [10.0, 11.0]));
        assert!(are_similar([0.0, 10.0], [0.0, 14.0]) && !are_similar([0.0, 10.0], [0.0, 16.0]));
        assert!(!are_similar([0.0, 10.0], [2.0, 4.0]));
        assert!(are_similar([11.0, 10.0], [11.0, 9.8]), "downwards");
    }
}
