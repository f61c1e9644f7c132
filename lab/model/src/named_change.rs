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
}

/// Where a change was when something was said of it, by names of commits. More measured commits may move the change within its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangePlace {
    /// The last commit before the range.
    pub earliest: String,
    /// The first commit that had the new level, as estimated.
    pub by: String,
    /// The last commit of the range.
    pub latest: String,
    /// Whether it made the program better.
    pub effect: Effect,
}

/// A change of a series, at the place that it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedChange {
    /// The series.
    #[serde(flatten)]
    pub series: SeriesName,
    /// The place.
    pub place: ChangePlace,
}
