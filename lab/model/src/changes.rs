//! Changes found in a series: segments in which the level is constant or drifts, and the steps between them. Computed by `stats`, shown by `report`.

use crate::dataset::{Dataset, Series};
use crate::direction::Direction;
use crate::json::not_a_number_when_null;
use crate::said::Said;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// How certain a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was also found at the stricter false-positive rate, and enough points follow it.
    #[serde(alias = "confirmed")]
    Firm,
    /// More points may show that it is none.
    Provisional,
}

/// What a step means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Values are better after it.
    Better,
    /// Values are worse after it.
    Worse,
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

/// A step between two segments. It lies after one position and at or before another; in a history, at one of the commits between.
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
    /// The same just after it.
    pub to: f64,
    /// Whether it makes values better.
    pub effect: Effect,
    /// How certain it is.
    pub status: Status,
    /// By how much it reduces the squared deviations, divided by the noise's variance. It is compared with a penalty.
    pub gain: f64,
}

/// Why an answer about a series is limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeCaution {
    /// Too few points to distinguish slow noise from steps: the false-positive rate holds for white noise only.
    Short {
        /// Points of the series.
        points: u32,
    },
    /// Part of the noise is slow, and may look like a small step.
    Wanders {
        /// Its share of the noise's variance.
        share: f64,
    },
    /// The level changes all the time, so no step is reported.
    Restless {
        /// Number of steps that were found and not reported.
        steps: u32,
    },
    /// No kind of noise describes the residuals, so no step is reported.
    UnlikeAnyNoise {
        /// Correlation of neighbouring residuals; it should be near 0.
        likeness: f64,
    },
}

impl ChangeCaution {
    /// Whether no step is reported for it.
    pub fn withholds(&self) -> bool {
        matches!(self, ChangeCaution::Restless { .. } | ChangeCaution::UnlikeAnyNoise { .. })
    }
}

/// A series with its steps. `format` is [`Changes::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Name and version of this structure.
    pub format: String,
    /// False-positive rate: the share of series without a step in which one is found.
    pub false_alarms: f64,
    /// The same for a firm step.
    pub false_confirmations: f64,
    /// Smallest change of the level that is reported, as a share of the level before.
    #[serde(default)]
    pub least_change: f64,
    /// Number of steps that were left out because they change the level by less than that.
    #[serde(default)]
    pub smaller: u32,
    /// Why the rate may not hold, or why no step is reported.
    #[serde(default)]
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
    pub const FORMAT: &'static str = "faultline-changes-found/2";

    /// The series that were searched, with their values in the dataset of which they are.
    pub fn with_values<'a>(&'a self, dataset: &'a Dataset) -> Vec<(&'a Series, &'a SeriesChanges)> {
        self.series.iter().filter_map(|found| Some((dataset.series.get(found.index)?, found))).collect()
    }
}

/// A series that was not searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesLeftOut {
    /// Name, measure and number of tasks.
    pub name: String,
    /// Why not.
    #[serde(flatten)]
    pub why: WhyLeftOut,
}

/// Why a series is not searched.
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
    /// It has too few points.
    TooShort {
        /// How many it has.
        points: u32,
        /// How many a search needs.
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
    /// Whether higher or lower is better. If it is not known, steps upwards are reported as better.
    pub direction: Option<Direction>,
    /// Runs without a value.
    pub missing: u32,
    /// What the positions are, ascending.
    pub places: Vec<Place>,
    /// Its steps.
    pub changes: Changes,
}

impl SeriesChanges {
    /// The place at a position.
    pub fn place(&self, position: u64) -> Option<&Place> {
        self.places.iter().find(|place| place.position == position)
    }
}

/// A position in a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number: milliseconds since the first position if all times are known, otherwise its place in the order.
    pub position: u64,
    /// The commit measured there.
    pub commit: Option<String>,
    /// Its time.
    pub time: Option<UnixMillis>,
}
