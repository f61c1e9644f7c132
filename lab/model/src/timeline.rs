//! A range of a history, to be drawn: its commits, or what they come to where there are more than a screen can show.

use crate::commit::FilesNamed;
use crate::estimate::Estimate;
use crate::history::certainty::Certainty;
use crate::record::RunId;
use crate::subject::SubjectIndex;
use serde::{Deserialize, Serialize};

/// A range of a history. `format` is [`Timeline::FORMAT`]. Positions are places among all commits of the history, from 0, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Timeline {
    /// Name and version of this structure.
    pub format: String,
    /// Identifies the history in addresses.
    pub id: String,
    /// The subject's name.
    pub subject: String,
    /// Unit of the values. Lower is better.
    pub unit: String,
    /// Copies of the command that ran at once, or its threads.
    pub tasks: u32,
    /// Whether values are exact counts, without intervals.
    pub is_exact: bool,
    /// The host on which time was measured; `None` of counts, which are the same on each, and if it is not known.
    pub host: Option<String>,
    /// What tells the history from others, in words: subject, measure, tasks.
    pub name: String,
    /// The value of its first measured commit, to which a relative axis refers; `None` without one above 0.
    pub base: Option<f64>,
    /// Histories whose commits have places among those of this one, so that one plot can show them together.
    pub related: Vec<RelatedHistory>,
    /// Number of all commits of the history.
    pub commits: u32,
    /// First position of the range.
    pub from: u32,
    /// Last position of the range.
    pub to: u32,
    /// The commits of the range; empty if they are in buckets.
    pub marks: Vec<CommitMark>,
    /// The range in buckets, if it has too many commits.
    pub buckets: Vec<Bucket>,
    /// The whole history in buckets.
    pub whole: Vec<Bucket>,
    /// All steps of the history.
    pub steps: Vec<StepMark>,
    /// Smallest change that is a step, as a share of the value before.
    pub least_change: f64,
    /// All quirks of the history.
    pub quirks: Vec<QuirkMark>,
}

impl Timeline {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-timeline/1";
}

/// A history that can be drawn with another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RelatedHistory {
    /// Identifies it in addresses.
    pub id: String,
    /// What tells it from others, in words.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
}

/// Further histories in the range of one, placed on its line of commits. `format` is [`Beside::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Beside {
    /// Name and version of this structure.
    pub format: String,
    /// The history on whose line they are placed.
    pub id: String,
    /// First position of the range.
    pub from: u32,
    /// Last position of the range.
    pub to: u32,
    /// The histories, in the order in which they were asked for.
    pub series: Vec<BesideSeries>,
}

impl Beside {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-beside/1";
}

/// A history on the line of another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BesideSeries {
    /// Identifies it in addresses.
    pub id: String,
    /// What tells it from others, in words.
    pub name: String,
    /// Unit of its values. Lower is better.
    pub unit: String,
    /// Whether values are exact counts, without intervals.
    pub is_exact: bool,
    /// The host on which time was measured, as that of a timeline.
    pub host: Option<String>,
    /// The value of its first measured commit; `None` without one above 0.
    pub base: Option<f64>,
    /// Number of its commits with a result that have no place on the line: they lie before its first common commit, or after the last.
    pub outside: u32,
    /// Its commits with a result in the range; empty if they are in buckets.
    pub marks: Vec<PlacedMark>,
    /// The range in buckets, if it has too many commits.
    pub buckets: Vec<PlacedBucket>,
}

/// A commit of another history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlacedMark {
    /// Its place on the line: a position, or between two of them if the line does not have the commit.
    pub at: f64,
    /// Whether commits without a result lie between it and the one before it here.
    pub is_after_gap: bool,
    /// The commit, at its position in its own history; without the values of single executions.
    pub mark: CommitMark,
}

/// Consecutive commits of another history together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PlacedBucket {
    /// Place of its first commit on the line.
    pub from: f64,
    /// Place of its last commit.
    pub to: f64,
    /// The commits, at their positions in their own history.
    pub bucket: Bucket,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CommitMark {
    /// Its position.
    pub position: u32,
    /// Its name.
    pub commit: String,
    /// When it was committed, in seconds since 1970.
    pub committed_s: i64,
    /// Its author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The run that has its result.
    pub run: Option<RunId>,
    /// Its median; `None` if it has no value.
    pub value: Option<Estimate>,
    /// The values of its executions. Left out where a range has too many.
    pub values: Vec<f64>,
    /// The boot in which each of them was executed, as a number from 0; empty if it was one boot, or if none is known.
    pub boots: Vec<u32>,
    /// The values of its executions in random layouts, which have no part in its median. Left out with `values`.
    pub layout_values: Vec<f64>,
    /// The seed of the layout of each of these.
    pub layouts: Vec<u32>,
    /// Number of values of both kinds, also where they are left out.
    pub executions: u32,
    /// The files that it changed; `None` if nobody looked.
    pub files: Option<FilesNamed>,
    /// Why it cannot be measured, in words; empty if it was measured, or not tried.
    pub why: String,
    /// If it cannot be measured, a few lines of what its build, its program or its machine said last; empty if nothing was saved.
    pub message: String,
    /// The subject of the run that was executed for it, by which its raw executions are found; `None` if none was.
    pub executed_as: Option<SubjectIndex>,
}

/// Consecutive commits together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Bucket {
    /// Position of the first commit.
    pub first: u32,
    /// Position of the last commit.
    pub last: u32,
    /// When the first was committed, in seconds since 1970.
    pub first_s: i64,
    /// When the last was committed.
    pub last_s: i64,
    /// Number of commits with a value.
    pub measured: u32,
    /// Number of commits that cannot be measured.
    pub unusable: u32,
    /// Values of the commits; `None` if none has one.
    pub level: Option<BucketLevel>,
}

/// The values of the commits of a bucket. No extreme is lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BucketLevel {
    /// The lowest median of a commit.
    pub low: f64,
    /// Position of the commit that has it.
    pub low_at: u32,
    /// The median of the commits' medians.
    pub median: f64,
    /// The highest median of a commit.
    pub high: f64,
    /// Position of the commit that has it.
    pub high_at: u32,
}

/// A step between commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StepMark {
    /// Position of the last measured commit before it, as estimated.
    pub after: u32,
    /// Position of the first measured commit that has the new level, as estimated.
    pub by: u32,
    /// Lower end of the 95 % range of `after`.
    pub earliest: u32,
    /// Upper end of the 95 % range of `by`.
    pub latest: u32,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// Names of the commits at `after` and `by`.
    pub commits: [String; 2],
    /// By how much it changes the level, in words.
    pub change: String,
    /// What that means, and how certain it is, in words.
    pub what: String,
    /// Whether values are better after it.
    pub is_better: bool,
    /// How certain it is that the program changed.
    pub certainty: Certainty,
    /// The word for its state; empty if nothing is known of it.
    pub state: String,
    /// What was said of it, and which parts quirks and commits have, a line for each.
    pub said: Vec<String>,
}

/// The steps of a history by a smallest change that a reader has chosen. `format` is [`StepsFound::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StepsFound {
    /// Name and version of this structure.
    pub format: String,
    /// Identifies the history in addresses.
    pub id: String,
    /// Smallest change that is a step, as a share of the value before.
    pub least_change: f64,
    /// The steps. Nothing is known of their states, which belong to the steps by the usual smallest change.
    pub steps: Vec<StepMark>,
}

impl StepsFound {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-steps/1";
}

/// A change of the surroundings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QuirkMark {
    /// Its letter.
    pub letter: String,
    /// What it is, in words.
    pub what: String,
    /// First and last positions of commits with results in these surroundings. Commits without a result may lie between.
    pub ranges: Vec<[u32; 2]>,
}
