//! How a change of a history is named, although more measured commits may move it.

use crate::changes::Effect;
use crate::count::Count;
use serde::{Deserialize, Serialize};

/// Names a series of a history, in whatever runs it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesName {
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository, as it is saved.
    pub repository: String,
    /// Copies of the command that run at once, or its threads.
    pub tasks: u32,
    /// What is counted; `None` if time is measured.
    pub counted: Option<Count>,
    /// A digest of what the results of the series have in common: recipe, command, measure, machine. Empty in what older versions saved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conditions: String,
}

/// Where a change was when something was said of it, by names of commits. More measured commits may move the change within its range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangePlace {
    /// The last commit before the range.
    pub earliest: String,
    /// The first commit that had the new level, as estimated.
    pub by: String,
    /// The last commit of the range.
    pub latest: String,
    /// Whether it made the program better.
    pub effect: Effect,
    /// The levels before and after it; `None` in what older versions saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<[f64; 2]>,
}

/// Factor by which the sizes of two changes may differ that are taken for one.
const MOST_RESIZED: f64 = 1.5;

impl ChangePlace {
    /// Whether a change between these levels may be this one by its size. If the size is not known, any may.
    pub fn may_be_between(&self, levels: [f64; 2]) -> bool {
        self.levels.is_none_or(|own| are_similar(own, levels))
    }
}

/// Whether two changes have about the same size: as ratios, or as differences if a level is 0.
fn are_similar(one: [f64; 2], other: [f64; 2]) -> bool {
    let has_ratios = one.iter().chain(&other).all(|level| *level > 0.0);
    let size = |[from, to]: [f64; 2]| if has_ratios { (to / from).ln().abs() } else { (to - from).abs() };
    let (one, other) = (size(one), size(other));
    one.max(other) <= MOST_RESIZED * one.min(other)
}

/// A change of a series, at the place that it had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedChange {
    /// The series.
    #[serde(flatten)]
    pub series: SeriesName,
    /// The place.
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

    #[test]
    fn places_and_series_of_older_versions_are_read() {
        let text = r#"{"subject":"app","repository":"/r","tasks":1,"counted":null,
                       "place":{"earliest":"a","by":"b","latest":"c","effect":"worse"}}"#;
        let named: NamedChange = serde_json::from_str(text).unwrap();
        assert_eq!((named.series.conditions.as_str(), named.place.levels), ("", None));
        assert!(named.place.may_be_between([1.0, 9.0]));
    }
}
