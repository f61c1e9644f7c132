//! Positions of the points of a series: by their times if all are known, otherwise by their order.

use faultline_record::dataset::DataPoint;
use std::collections::BTreeMap;

/// A position for every point, in the order given.
///
/// With times, the position is milliseconds since the first. Points of equal times follow each
/// other in the order given, a millisecond apart, unless they belong to one commit: then they share
/// a position. Without times, it is the place in the order, and consecutive runs of one commit
/// share one position.
pub(crate) fn positions(points: &[&DataPoint]) -> Vec<u64> {
    let times: Option<Vec<i64>> = points.iter().map(|point| Some(point.time?.0)).collect();
    match times {
        Some(times) => by_times(points, &times),
        None => by_order(points),
    }
}

fn by_times(points: &[&DataPoint], times: &[i64]) -> Vec<u64> {
    let first = times.iter().copied().min().unwrap_or(0);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|&i| times[i]);
    let mut positions = vec![0; points.len()];
    let mut next = 0;
    for together in order.chunk_by(|&a, &b| times[a] == times[b]) {
        let mut commits: BTreeMap<&str, u64> = BTreeMap::new();
        for &i in together {
            let known = points[i].commit.as_deref().and_then(|commit| commits.get(commit).copied());
            positions[i] = known.unwrap_or_else(|| times[i].abs_diff(first).max(next));
            next = next.max(positions[i] + 1);
            if let Some(commit) = &points[i].commit {
                commits.insert(commit, positions[i]);
            }
        }
    }
    positions
}

fn by_order(points: &[&DataPoint]) -> Vec<u64> {
    let mut position = 0;
    let follows = |i: usize| points[i].commit.is_none() || points[i].commit != points[i - 1].commit;
    (0..points.len())
        .map(|i| {
            position += u64::from(i > 0 && follows(i));
            position
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::Measured;
    use faultline_record::time::UnixMillis;

    fn of(points: &[(&str, Option<i64>)]) -> Vec<u64> {
        let points: Vec<DataPoint> = points
            .iter()
            .map(|(commit, time)| DataPoint {
                commit: (!commit.is_empty()).then(|| (*commit).to_owned()),
                time: time.map(UnixMillis),
                ..DataPoint::of(Measured::Values(vec![1.0]))
            })
            .collect();
        positions(&points.iter().collect::<Vec<_>>())
    }

    #[test]
    fn equal_times_keep_the_order_and_only_one_commit_is_one_point() {
        let day = 86_400_000;
        let points = [("a", 0), ("b", 0), ("a", 0), ("", 0), ("", 0), ("c", day)].map(|(c, t)| (c, Some(t)));
        assert_eq!(of(&points), [0, 1, 0, 2, 3, 86_400_000]);
    }

    #[test]
    fn times_a_millisecond_apart_are_not_mixed_up() {
        assert_eq!(of(&[("a", Some(5)), ("b", Some(5)), ("c", Some(6)), ("d", Some(4))]), [1, 2, 3, 0]);
    }

    #[test]
    fn without_times_the_order_counts() {
        assert_eq!(of(&[("a", None), ("a", None), ("b", Some(1)), ("", None), ("", None)]), [0, 0, 1, 2, 3]);
    }
}
