//! Changes found in a series: segments in which the level is constant or drifts, and the steps
//! between them. Computed by `stats`, shown by `report`.

use crate::json::not_a_number_when_null;
use crate::said::Said;
use faultline_record::dataset::{Dataset, Series};
use faultline_record::direction::{Direction, Effect};
use faultline_record::time::UnixMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Certainty of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The step was also found at the stricter false-positive rate, and enough points follow it.
    Firm,
    /// More points may remove it.
    Provisional,
}

/// The part of a series between two steps.
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
    /// Rise per position, if it drifts. `None` if it is constant.
    pub drift: Option<f64>,
}

/// A step between two segments. It lies after one position and at or before another; in a history,
/// at one of the commits between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The last position before it, as estimated.
    pub after: u64,
    /// The first position that has the new level, as estimated.
    pub by: u64,
    /// Lower end of the 95 % range of `after`.
    pub earliest: u64,
    /// Upper end of the 95 % range of `by`.
    pub latest: u64,
    /// The value just before it, without noise: the level, or the end of the drift.
    pub from: f64,
    /// The value just after it, likewise.
    pub to: f64,
    /// True if values are better after it.
    pub effect: Effect,
    /// Certainty of the step.
    pub status: Status,
    /// Reduction of the squared deviations, divided by the noise's variance. It is compared with a
    /// penalty.
    pub gain: f64,
}

/// Reason why an answer about a series is limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeCaution {
    /// Too few points to distinguish slow noise from steps: the false-positive rate holds for white
    /// noise only.
    Short {
        /// Points of the series.
        points: u32,
    },
    /// Part of the noise is slow, and may look like a small step.
    Wanders {
        /// Its share of the noise's variance.
        share: f64,
    },
    /// A stretch in which the level changes all the time. Its steps are provisional.
    Restless {
        /// Number of its steps.
        steps: u32,
        /// The last position before its first step.
        first: u64,
        /// The first position after its last step.
        last: u64,
    },
    /// No kind of noise describes the residuals, so the rates do not hold. All steps are
    /// provisional.
    UnlikeAnyNoise {
        /// Correlation of neighbouring residuals; it should be near 0.
        likeness: f64,
    },
}

/// A series with its steps. `format` is [`Changes::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Name and version of this structure.
    pub format: String,
    /// False-positive rate: the share of series without a step in which one is found.
    pub false_alarms: f64,
    /// As above, for firm steps.
    pub false_confirmations: f64,
    /// Smallest change of the level that is reported, as a share of the level before.
    pub least_change: f64,
    /// Number of steps that were left out because they change the level by less than that.
    pub smaller: u32,
    /// The smallest step, as a share of the level, that is found with the probability `POWER` of
    /// the method, wherever it has enough points on both sides. `None` if a level is 0.
    #[serde(default)]
    pub detectable: Option<f64>,
    /// Reasons why the rate may not hold.
    pub cautions: Vec<ChangeCaution>,
    /// Segments, one more than steps.
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
    pub left_out: Vec<Said<SeriesLeftOut>>,
}

impl ChangesFound {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-changes-found/1";

    /// The series that were searched, with their values in `dataset`.
    pub fn with_values<'a>(&'a self, dataset: &'a Dataset) -> Vec<(&'a Series, &'a SeriesChanges)> {
        self.series.iter().filter_map(|found| Some((dataset.series.get(found.index)?, found))).collect()
    }
}

/// A series that was not searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesLeftOut {
    /// Name, measure and number of tasks.
    pub name: String,
    /// The reason.
    #[serde(flatten)]
    pub why: WhyLeftOut,
}

/// Reason why a series is not searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum WhyLeftOut {
    /// A value is not finite.
    NotFinite {
        /// Its position.
        position: u64,
        /// The value; `null` in JSON.
        #[serde(deserialize_with = "not_a_number_when_null")]
        value: f64,
    },
    /// The series has too few points.
    TooShort {
        /// Number of points.
        points: u32,
        /// Number needed.
        needed: u32,
    },
}

/// A series' steps, with the names of its positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesChanges {
    /// Its place among the series of the dataset, from 0.
    pub index: usize,
    /// Name, measure and number of tasks.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Better direction. If unknown, steps upwards are reported as better.
    pub direction: Option<Direction>,
    /// Runs without a value.
    pub missing: u32,
    /// Descriptions of the positions, ascending.
    pub places: Vec<SeriesPosition>,
    /// Its steps.
    pub changes: Changes,
}

impl SeriesChanges {
    /// The place at a position.
    pub fn place(&self, position: u64) -> Option<&SeriesPosition> {
        self.places.iter().find(|place| place.position == position)
    }
}

/// A position in a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPosition {
    /// Its number: milliseconds since the first position if all times are known, otherwise its
    /// place in the order.
    pub position: u64,
    /// The commit measured there.
    pub commit: Option<String>,
    /// Its time.
    pub time: Option<UnixMillis>,
}
