//! Changes found in a series: segments that are steady or drift, and the steps between them. Computed by `stats`, shown by `report`.

use crate::direction::Direction;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How sure a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It would be found in few series without any step, and enough points follow it.
    Confirmed,
    /// More points may take it back.
    Provisional,
}

/// What a step means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Values are better from there on.
    Better,
    /// Values are worse from there on.
    Worse,
}

/// A stretch between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Position of its first point.
    pub first: u64,
    /// Position of its last point.
    pub last: u64,
    /// Points: values at one position are one point.
    pub points: u32,
    /// Median of its points, in the series' unit.
    pub level: f64,
    /// Rise per position, where it drifts. None where it is steady.
    pub drift: Option<f64>,
}

/// A step between two segments. It lies after one position and at or before another; in a history, at one of the commits between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The last position before it, as estimated.
    pub after: u64,
    /// The first position that has the new level, as estimated.
    pub by: u64,
    /// The earliest that `after` may be, at 95 %.
    pub earliest: u64,
    /// The latest that `by` may be, at 95 %.
    pub latest: u64,
    /// What was measured just before it, less noise: the level, or the end of the drift.
    pub from: f64,
    /// The same just after it.
    pub to: f64,
    /// Whether it makes values better.
    pub effect: Effect,
    /// How sure it is.
    pub status: Status,
    /// What it explains of the squared deviations, over the noise's variance: compared with a penalty.
    pub gain: f64,
}

/// What limits an answer about a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeCaution {
    /// Too few points to tell slow noise from steps: the rate of false alarms holds for white noise only.
    Short {
        /// Points of the series.
        points: u32,
    },
    /// Part of the noise moves slowly: what looks like a small step may be that.
    Wanders {
        /// Its share of the noise's variance.
        share: f64,
    },
    /// The level changes all the time: no step is told of.
    Restless {
        /// Steps that would be.
        steps: u32,
    },
    /// No kind of noise describes what is left beside the steps: none is told of.
    UnlikeAnyNoise {
        /// Correlation of neighbouring residuals, where there should be none.
        likeness: f64,
    },
}

/// A series with its steps. `format` is [`Changes::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Name and version of this structure.
    pub format: String,
    /// Share of series without a step in which one is found all the same.
    pub false_alarms: f64,
    /// The same for a confirmed one.
    pub false_confirmations: f64,
    /// Least change of the level, as a share of the level before, that is told of.
    #[serde(default)]
    pub least_change: f64,
    /// Steps left out since they change the level by less than that.
    #[serde(default)]
    pub smaller: u32,
    /// Why the rate may not hold, or why no step is told of.
    #[serde(default)]
    pub cautions: Vec<ChangeCaution>,
    /// Stretches, one more than steps.
    pub segments: Vec<Segment>,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

impl Changes {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-changes/1";
}

/// Steps of several series. `format` is [`ChangesFound::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangesFound {
    /// Name and version of this structure.
    pub format: String,
    /// The series, in the order given.
    pub series: Vec<SeriesChanges>,
    /// Series that were not searched, and why.
    pub left_out: Vec<String>,
}

impl ChangesFound {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-changes-found/1";
}

/// A series' steps, with the names of its positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesChanges {
    /// Name, measure and number of tasks.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Which way is better; where it isn't known, up was taken to be.
    pub direction: Option<Direction>,
    /// Runs without a value.
    pub missing: u32,
    /// What the positions are, ascending.
    pub places: Vec<Place>,
    /// Its steps.
    pub changes: Changes,
}

impl SeriesChanges {
    /// What stands at a position.
    pub fn place(&self, position: u64) -> Option<&Place> {
        self.places.iter().find(|place| place.position == position)
    }
}

/// A position in a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number: milliseconds since the first where all times are known, else its place in the order.
    pub position: u64,
    /// The commit measured there.
    pub commit: Option<String>,
    /// Its time.
    pub time: Option<UnixMillis>,
}
