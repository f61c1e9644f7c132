//! Histories that one plot can show together: some of their commits are the same.

use crate::asked_range::Asked;
use crate::histories::{History, Snapshot};
use crate::problem::Problem;
use crate::query::Query;
use faultline_model::history::{HistoryPoint, PointResult};
use faultline_model::timeline::{Beside, BesideSeries, Bucket, PlacedBucket, PlacedMark, RelatedHistory};
use faultline_report::site::{Executed, commit_mark, history_name};
use faultline_stats::timeline::{base, buckets, places};
use std::collections::HashSet;
use std::sync::Arc;

/// Histories that are offered.
const MOST_RELATED: usize = 40;
/// Histories that are drawn with another one at once. More could not be told apart.
pub(crate) const MOST_BESIDE: usize = 5;
/// Commits of each that are sent one by one.
const MOST_MARKS: usize = 1000;
/// Most buckets of each.
const MOST_BUCKETS: usize = 2000;

/// The histories that can be drawn with one: of the same repository or the same subject, with a common commit. Those of the same subject come first.
pub(crate) fn related(of: &History, now: &Snapshot) -> Vec<RelatedHistory> {
    let commits: HashSet<&str> = of.series.points.iter().map(|point| point.commit.id.as_str()).collect();
    let is_of_subject = |one: &History| one.series.subject == of.series.subject;
    let is_near = |one: &&Arc<History>| is_of_subject(one) || one.series.repository == of.series.repository;
    // The newest commits are the ones that histories most often have in common.
    let has_common =
        |one: &&Arc<History>| one.series.points.iter().rev().any(|point| commits.contains(point.commit.id.as_str()));
    let others = now.histories.iter().filter(|one| one.id != of.id).filter(is_near).filter(has_common);
    let (mut own, others): (Vec<_>, Vec<_>) = others.partition(|one| is_of_subject(one));
    own.extend(others);
    let about = |one: &Arc<History>| RelatedHistory {
        id: one.id.clone(),
        name: history_name(&one.series),
        unit: one.series.unit.clone(),
    };
    own.into_iter().take(MOST_RELATED).map(about).collect()
}

/// The histories that the parameter `with` names. Fails if there is one too many, one twice, or one that does not exist.
pub(crate) fn asked_for(query: &Query, now: &Snapshot) -> Result<Vec<Arc<History>>, Problem> {
    const HINT: &str = "`with` has the identifiers of up to 5 other histories, with commas between them";
    let ids: Vec<&str> = query.text("with").unwrap_or_default().split(',').filter(|id| !id.is_empty()).collect();
    if ids.is_empty() {
        return Err(Problem::bad_request("`with` is missing", HINT));
    }
    let distinct: HashSet<&&str> = ids.iter().collect();
    if ids.len() > MOST_BESIDE || distinct.len() < ids.len() {
        return Err(Problem::bad_request("`with` names too many histories, or one of them twice", HINT));
    }
    ids.into_iter().map(|id| now.history(id)).collect()
}

/// Other histories in a range of one.
pub(crate) fn beside(of: &History, others: &[Arc<History>], asked: &Asked) -> Beside {
    let line = &of.series.points;
    let range = asked.range(line.len());
    let to = range.end.saturating_sub(1).max(range.start);
    let reach = (range.start as f64, to as f64);
    Beside {
        format: Beside::FORMAT.to_owned(),
        id: of.id.clone(),
        from: range.start as u32,
        to: to as u32,
        series: others.iter().map(|other| placed(line, other, reach, asked.width)).collect(),
    }
}

fn placed(line: &[HistoryPoint], other: &History, (from, to): (f64, f64), width: usize) -> BesideSeries {
    let points = &other.series.points;
    let places = places(line, points);
    let has_result = |at: &usize| !matches!(points[*at].result, PointResult::None);
    let is_outside = |at: &usize| places[*at].is_none() && has_result(at);
    let within = |at: &usize| places[*at].is_some_and(|place| from <= place && place <= to);
    let there: Vec<usize> = (0..points.len()).filter(within).filter(has_result).collect();
    let are_few = there.len() <= MOST_MARKS;
    BesideSeries {
        id: other.id.clone(),
        name: history_name(&other.series),
        unit: other.series.unit.clone(),
        is_exact: other.series.counted.is_some(),
        host: other.series.host.clone(),
        base: base(points),
        outside: (0..points.len()).filter(is_outside).count() as u32,
        marks: if are_few { marks(points, &places, &there) } else { Vec::new() },
        buckets: if are_few { Vec::new() } else { placed_buckets(points, &places, &there, width) },
    }
}

fn marks(points: &[HistoryPoint], places: &[Option<f64>], there: &[usize]) -> Vec<PlacedMark> {
    let mark = |(number, &at): (usize, &usize)| {
        Some(PlacedMark {
            at: places[at]?,
            is_after_gap: number > 0 && there[number - 1] + 1 < at,
            mark: commit_mark(at as u32, &points[at], &Executed::default(), false),
        })
    };
    there.iter().enumerate().filter_map(mark).collect()
}

fn placed_buckets(points: &[HistoryPoint], places: &[Option<f64>], there: &[usize], width: usize) -> Vec<PlacedBucket> {
    let (Some(&first), Some(&last)) = (there.first(), there.last()) else { return Vec::new() };
    let placed = |bucket: Bucket| {
        Some(PlacedBucket { from: places[bucket.first as usize]?, to: places[bucket.last as usize]?, bucket })
    };
    buckets(points, first..last + 1, width.min(MOST_BUCKETS)).into_iter().filter_map(placed).collect()
}
