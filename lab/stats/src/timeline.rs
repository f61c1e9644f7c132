//! Many commits of a history in few buckets, as wide as a screen can show. Extremes are kept, so a single commit that is slow stays in sight.

use crate::median::median;
use faultline_model::history::{HistoryPoint, PointResult};
use faultline_model::timeline::{Bucket, BucketLevel};
use std::collections::HashMap;
use std::ops::Range;

/// Where the commits of another history lie on a line of commits: at the position of the same commit, or, if the line does not have it, between those of its
/// neighbours that the line has. `None` for those before the first common commit and after the last.
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

/// The value of the first measured commit, if it is above 0: what a relative axis refers to.
pub fn base(points: &[HistoryPoint]) -> Option<f64> {
    points.iter().find_map(HistoryPoint::value).filter(|value| *value > 0.0)
}

/// The commits at these positions in at most `most` buckets of equal numbers of commits, or one more or less. Positions beyond the last commit are ignored.
/// No bucket is empty. `most`: at least 1.
pub fn buckets(points: &[HistoryPoint], range: Range<usize>, most: usize) -> Vec<Bucket> {
    let end = range.end.min(points.len());
    let range = range.start.min(end)..end;
    let count = most.max(1).min(range.len());
    let edge = |number: usize| range.start + range.len() * number / count;
    (0..count).map(|number| bucket(points, edge(number)..edge(number + 1))).collect()
}

/// The commits at these positions, at least one, as a bucket.
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

/// What values at positions come to; `None` without a value.
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
    use faultline_model::commit::CommitInfo;
    use faultline_model::drill::Unusable;
    use faultline_model::estimate::Estimate;
    use faultline_model::history::NotMeasured;

    fn point(position: usize, value: Option<f64>) -> HistoryPoint {
        let commit =
            CommitInfo { id: format!("{position:040x}"), committed_s: position as i64 * 10, ..CommitInfo::default() };
        let result = match value {
            Some(value) => PointResult::Measured {
                estimate: Estimate { median: value, low: value, high: value, coverage: 1.0, n: 1 },
                same_as: None,
            },
            None => PointResult::Unusable(NotMeasured { why: Unusable::Build, build: None, execution: None }),
        };
        HistoryPoint { commit, run: None, surroundings: 0, result }
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
