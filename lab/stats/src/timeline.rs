//! Commits of a history, combined into as many buckets as a screen can show. Extremes are kept, so
//! a single slow commit stays visible.

use crate::estimate::Estimate;
use crate::history::{Certainty, HistoryPoint, PointResult};
use crate::median::median;
use faultline_record::commit::FilesNamed;
use faultline_record::record::RunId;
use faultline_record::subject::SubjectIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;

/// A range of a history. `format` is [`Timeline::FORMAT`]. Positions count all commits of the
/// history from 0, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Timeline {
    /// Name and version of this structure.
    pub format: String,
    /// Identifier of the history in URLs.
    pub id: String,
    /// The subject's name.
    pub subject: String,
    /// Unit of the values. Lower is better.
    pub unit: String,
    /// Number of copies of the command that ran concurrently, or of its threads.
    pub tasks: u32,
    /// True if values are exact counts, without intervals.
    pub is_exact: bool,
    /// The host on which time was measured; `None` if unknown, and for counts, which do not depend
    /// on the host.
    pub host: Option<String>,
    /// Display name: subject, measure, tasks.
    pub name: String,
    /// Reference value of a relative axis: that of the first measured commit. `None` if that is not
    /// above 0.
    pub base: Option<f64>,
    /// Histories with common commits, which one plot can show together.
    pub related: Vec<RelatedHistory>,
    /// Number of all commits of the history.
    pub commits: u32,
    /// First position of the range.
    pub from: u32,
    /// Last position of the range.
    pub to: u32,
    /// The commits of the range; empty if they are in `buckets`.
    pub marks: Vec<CommitMark>,
    /// The range in buckets, if it has too many commits.
    pub buckets: Vec<Bucket>,
    /// The whole history in buckets.
    pub whole: Vec<Bucket>,
    /// All steps of the history.
    pub steps: Vec<StepMark>,
    /// Smallest reported step, as a share of the value before.
    pub least_change: f64,
    /// All quirks of the history.
    pub quirks: Vec<QuirkMark>,
}

impl Timeline {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-timeline/1";
}

/// A history that can be drawn in the same plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct RelatedHistory {
    /// Identifier in URLs.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
}

/// Further histories in the range of one, aligned with its commits. `format` is [`Beside::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Beside {
    /// Name and version of this structure.
    pub format: String,
    /// Identifier of the history with which they are aligned.
    pub id: String,
    /// First position of the range.
    pub from: u32,
    /// Last position of the range.
    pub to: u32,
    /// The histories, in the requested order.
    pub series: Vec<BesideSeries>,
}

impl Beside {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-beside/1";
}

/// A history aligned with the commits of another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct BesideSeries {
    /// Identifier in URLs.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Unit of its values. Lower is better.
    pub unit: String,
    /// True if values are exact counts, without intervals.
    pub is_exact: bool,
    /// The host on which time was measured, as in [`Timeline::host`].
    pub host: Option<String>,
    /// Value of the first measured commit; `None` if that is not above 0.
    pub base: Option<f64>,
    /// Number of its commits with a result outside the line: before the first common commit, or
    /// after the last.
    pub outside: u32,
    /// Its commits with a result in the range; empty if they are in buckets.
    pub marks: Vec<PlacedMark>,
    /// The range in buckets, if it has too many commits.
    pub buckets: Vec<PlacedBucket>,
}

/// A commit of another history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct PlacedMark {
    /// Its place on the line: a position, or a value between two positions if the line lacks the
    /// commit.
    pub at: f64,
    /// True if commits without a result lie between this one and its predecessor here.
    pub is_after_gap: bool,
    /// The commit, at its position in its own history, without the values of single executions.
    pub mark: CommitMark,
}

/// Consecutive commits of another history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct PlacedBucket {
    /// Place of its first commit on the line.
    pub from: f64,
    /// Place of its last commit.
    pub to: f64,
    /// The commits, at their positions in their own history.
    pub bucket: Bucket,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CommitMark {
    /// Its position.
    pub position: u32,
    /// Its name.
    pub commit: String,
    /// Commit time, in seconds since 1970.
    pub committed_s: i64,
    /// Its author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The run that has its result.
    pub run: Option<RunId>,
    /// Its median; `None` if it has no value.
    pub value: Option<Estimate>,
    /// Values of its executions. Left out if a range has too many.
    pub values: Vec<f64>,
    /// Boot of each execution, as a number from 0; empty if there was one boot, or if the boots are
    /// unknown.
    pub boots: Vec<u32>,
    /// Values of its executions in random layouts, which do not contribute to the median. Left out
    /// with `values`.
    pub layout_values: Vec<f64>,
    /// Seed of the layout of each of these values.
    pub layouts: Vec<u32>,
    /// Number of values of both kinds, also if they are left out.
    pub executions: u32,
    /// Files changed by the commit; `None` if they were not looked up.
    pub files: Option<FilesNamed>,
    /// Reason why it cannot be measured; empty if it was measured or not tried.
    pub why: String,
    /// Last lines of output of a failed build, program or machine; empty if none were saved.
    pub message: String,
    /// Subject of its execution in the run, for finding the raw data; `None` if it was not
    /// executed.
    pub executed_as: Option<SubjectIndex>,
}

/// Consecutive commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct Bucket {
    /// Position of the first commit.
    pub first: u32,
    /// Position of the last commit.
    pub last: u32,
    /// Commit time of the first, in seconds since 1970.
    pub first_s: i64,
    /// Commit time of the last, in seconds since 1970.
    pub last_s: i64,
    /// Number of commits with a value.
    pub measured: u32,
    /// Number of commits that cannot be measured.
    pub unusable: u32,
    /// Values of the commits; `None` if none has one.
    pub level: Option<BucketLevel>,
}

/// Values of the commits of a bucket, with both extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct StepMark {
    /// Position of the last measured commit before it (estimate).
    pub after: u32,
    /// Position of the first measured commit with the new level (estimate).
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
    /// Size of the change, as text.
    pub change: String,
    /// Meaning and certainty of the step, as text.
    pub what: String,
    /// True if values are better after it.
    pub is_better: bool,
    /// Certainty that the program changed.
    pub certainty: Certainty,
    /// The word for its state; empty if unknown.
    pub state: String,
    /// Comments on it, and the contributions of quirks and commits, one per line.
    pub said: Vec<String>,
}

/// The steps of a history for a smallest change chosen by the reader. `format` is
/// [`StepsFound::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct StepsFound {
    /// Name and version of this structure.
    pub format: String,
    /// Identifier of the history in URLs.
    pub id: String,
    /// Smallest reported step, as a share of the value before.
    pub least_change: f64,
    /// The steps, without states: these belong to the steps found with the default smallest change.
    pub steps: Vec<StepMark>,
}

impl StepsFound {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-steps/1";
}

/// A change of the environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct QuirkMark {
    /// Its letter.
    pub letter: String,
    /// Description.
    pub what: String,
    /// First and last positions of commits with results in this environment. Commits without a
    /// result may lie between.
    pub ranges: Vec<[u32; 2]>,
}

/// Places of another history's commits on a line of commits: the position of the same commit, or a
/// value between its neighbours' positions if the line lacks it. `None` for commits before the
/// first common commit and after the last.
pub fn places(line: &[HistoryPoint], other: &[HistoryPoint]) -> Vec<Option<f64>> {
    let positions: HashMap<&str, usize> =
        line.iter().enumerate().map(|(at, point)| (point.commit.id.as_str(), at)).collect();
    let mut places = vec![None; other.len()];
    let mut before: Option<(usize, f64)> = None;
    for (at, point) in other.iter().enumerate() {
        let Some(&position) = positions.get(point.commit.id.as_str()) else { continue };
        let place = position as f64;
        if let Some((first, from)) = before {
            let gap = (at - first) as f64;
            for (step, between) in places[first + 1..at].iter_mut().enumerate() {
                *between = Some(from + (place - from) * (step + 1) as f64 / gap);
            }
        }
        places[at] = Some(place);
        before = Some((at, place));
    }
    places
}

/// Reference value of a relative axis: that of the first measured commit, if it is above 0.
pub fn base(points: &[HistoryPoint]) -> Option<f64> {
    points.iter().find_map(HistoryPoint::value).filter(|value| *value > 0.0)
}

/// The commits at these positions in at most `most` buckets of (almost) equal size, none of them
/// empty. Positions beyond the last commit are ignored. `most`: at least 1.
pub fn buckets(points: &[HistoryPoint], range: Range<usize>, most: usize) -> Vec<Bucket> {
    let end = range.end.min(points.len());
    let range = range.start.min(end)..end;
    let count = most.max(1).min(range.len());
    let edge = |number: usize| range.start + range.len() * number / count;
    (0..count).map(|number| bucket(points, edge(number)..edge(number + 1))).collect()
}

/// A bucket of the commits at these positions, at least one.
fn bucket(points: &[HistoryPoint], range: Range<usize>) -> Bucket {
    let (first, last) = (range.start, range.end - 1);
    let is_unusable = |point: &&HistoryPoint| matches!(point.result, PointResult::Unusable { .. });
    let valued: Vec<(u32, f64)> = range.clone().filter_map(|at| Some((at as u32, points[at].value()?))).collect();
    Bucket {
        first: first as u32,
        last: last as u32,
        first_s: points[first].commit.committed_s,
        last_s: points[last].commit.committed_s,
        measured: valued.len() as u32,
        unusable: points[range].iter().filter(is_unusable).count() as u32,
        level: level(&valued),
    }
}

/// Summary of values at positions; `None` without a value.
fn level(valued: &[(u32, f64)]) -> Option<BucketLevel> {
    let by_value = |a: &&(u32, f64), b: &&(u32, f64)| a.1.total_cmp(&b.1);
    let &(low_at, low) = valued.iter().min_by(by_value)?;
    let &(high_at, high) = valued.iter().max_by(by_value)?;
    let values: Vec<f64> = valued.iter().map(|(_, value)| *value).collect();
    Some(BucketLevel { low, low_at, median: median(&values)?, high, high_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::history::NotMeasured;
    use faultline_record::bisect::Unusable;
    use faultline_record::commit::CommitInfo;

    fn point(position: usize, value: Option<f64>) -> HistoryPoint {
        let commit =
            CommitInfo { id: format!("{position:040x}"), committed_s: position as i64 * 10, ..CommitInfo::default() };
        let result = match value {
            Some(value) => PointResult::Measured {
                estimate: Estimate { median: value, low: value, high: value, coverage: 1.0, n: 1 },
                least: None,
                same_as: None,
            },
            None => PointResult::Unusable(NotMeasured { why: Unusable::Build, build: None, execution: None }),
        };
        HistoryPoint { commit, run: None, environment: 0, result }
    }

    #[test]
    fn no_commit_and_no_extreme_is_lost() {
        let value = |at: usize| match at {
            77 => Some(500.0),
            612 => Some(0.01),
            _ if at.is_multiple_of(50) => None,
            _ => Some(1.0 + (at % 7) as f64 / 100.0),
        };
        let points: Vec<HistoryPoint> = (0..1003).map(|at| point(at, value(at))).collect();
        for most in [1, 2, 10, 100, 1003, 5000] {
            let buckets = buckets(&points, 0..2000, most);
            assert_eq!(buckets.len(), most.min(1003));
            let mut next = 0;
            for bucket in &buckets {
                assert_eq!(bucket.first, next);
                next = bucket.last + 1;
                assert_eq!(
                    (bucket.first_s, bucket.last_s),
                    (i64::from(bucket.first) * 10, i64::from(bucket.last) * 10)
                );
            }
            assert_eq!(next, 1003);
            let levels: Vec<&BucketLevel> = buckets.iter().filter_map(|bucket| bucket.level.as_ref()).collect();
            assert!(levels.iter().any(|level| (level.high, level.high_at) == (500.0, 77)), "{most}");
            assert!(levels.iter().any(|level| (level.low, level.low_at) == (0.01, 612)), "{most}");
            assert!(levels.iter().all(|level| level.low <= level.median && level.median <= level.high));
            let unusable: u32 = buckets.iter().map(|bucket| bucket.unusable).sum();
            let measured: u32 = buckets.iter().map(|bucket| bucket.measured).sum();
            assert_eq!((unusable, measured), (21, 982));
        }
    }

    #[test]
    fn commits_of_another_history_lie_between_those_that_both_have() {
        let of = |commits: &[usize]| commits.iter().map(|at| point(*at, Some(1.0))).collect::<Vec<_>>();
        let line = of(&[0, 10, 20, 40]);
        let other = of(&[5, 10, 13, 16, 20, 40, 50]);
        let expected = [None, Some(1.0), Some(1.0 + 1.0 / 3.0), Some(1.0 + 2.0 / 3.0), Some(2.0), Some(3.0), None];
        assert_eq!(places(&line, &other), expected);
        assert_eq!(places(&line, &of(&[1, 2])), [None, None]);
        assert_eq!(places(&[], &other), [None; 7]);
    }

    #[test]
    fn the_base_is_the_first_value_above_zero_or_none() {
        assert_eq!(base(&[point(0, None), point(1, Some(3.0)), point(2, Some(4.0))]), Some(3.0));
        assert_eq!(base(&[point(0, Some(0.0)), point(1, Some(3.0))]), None);
        assert_eq!(base(&[point(0, None)]), None);
    }

    #[test]
    fn ranges_without_commits_have_no_buckets_and_failures_have_no_level() {
        let points = [point(0, None), point(1, None)];
        assert!(buckets(&points, 5..9, 3).is_empty() && buckets(&[], 0..1, 3).is_empty());
        let [only] = buckets(&points, 0..2, 1).try_into().unwrap();
        assert_eq!((only.level, only.unusable), (None, 2));
    }
}
