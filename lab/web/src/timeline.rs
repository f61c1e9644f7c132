//! Ranges of a history: to draw, as rows of data, and with other histories beside it.

use crate::histories::{History, Snapshot};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use faultline_report::site::{Executed, commit_mark, history_name, quirk_marks, step_mark};
use faultline_stats::history::{HistoryPoint, HistorySeries, HistoryStep, HistorySteps, PointResult, StepBasis};
use faultline_stats::timeline::{
    Beside, BesideSeries, Bucket, PlacedBucket, PlacedMark, RelatedHistory, Timeline, base, buckets, places,
};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Default number of buckets.
const USUAL_WIDTH: usize = 1000;
const MOST_WIDTH: i64 = 4000;

/// Maximum number of commits that are sent one by one.
pub(crate) const MOST_MARKS: usize = 5000;
/// Maximum number of single values sent with them.
const MOST_VALUES: usize = 20_000;
/// Buckets of the whole history, for the strip above the plot.
const WHOLE: usize = 400;

/// Maximum number of related histories offered.
const MOST_RELATED: usize = 40;
/// Maximum number of histories drawn with another one. More would be indistinguishable.
const MOST_BESIDE: usize = 5;
/// Maximum number of commits of each that are sent one by one.
const MOST_MARKS_BESIDE: usize = 1000;
/// Maximum number of buckets of each.
const MOST_BUCKETS_BESIDE: usize = 2000;

/// First position of a range.
pub(crate) const FROM: Parameter = Parameter::from("First position; 0 is the oldest commit");
/// Last position of a range.
pub(crate) const TO: Parameter = Parameter::integer("to", 0, u32::MAX as i64, "Last position");
/// Width of a drawn range.
pub(crate) const WIDTH: Parameter =
    Parameter::integer("width", 1, MOST_WIDTH, "Maximum number of buckets: pixels of the plot; by default 1000");
/// Histories beside another one.
pub(crate) const WITH: Parameter = Parameter::text(
    "with",
    "^[0-9a-f]{16}(,[0-9a-f]{16}){0,4}$",
    "Identifiers of up to 5 other histories, separated by commas",
)
.required();

/// A requested range of a history.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// First position; by default that of the history.
    pub(crate) from: Option<u32>,
    /// Last position; by default that of the history.
    pub(crate) to: Option<u32>,
    /// Width in pixels.
    pub(crate) width: usize,
}

impl Asked {
    /// The range of the parameters `from`, `to` and `width`. Fails if one is out of bounds.
    pub(crate) fn parse(query: &Query) -> Result<Self, Problem> {
        let asked = Asked {
            from: query.number("from")?,
            to: query.number("to")?,
            width: query.number("width")?.unwrap_or(USUAL_WIDTH),
        };
        match (asked.from, asked.to) {
            (Some(from), Some(to)) if from > to => {
                Err(Problem::bad_request("`from` is after `to`", "both are positions of commits; the oldest is 0"))
            }
            _ => Ok(asked),
        }
    }

    /// The positions in a history of `commits` commits.
    fn range(&self, commits: usize) -> Range<usize> {
        let end = self.to.map_or(commits, |to| to as usize + 1).min(commits);
        (self.from.unwrap_or(0) as usize).min(end)..end
    }
}

/// A range of a history as a timeline: single commits if they are few, otherwise one bucket per
/// pixel. `now` has the related histories.
pub(crate) fn timeline(history: &History, asked: &Asked, now: &Snapshot) -> Timeline {
    let series = &history.series;
    let points = &series.points;
    let range = asked.range(points.len());
    let are_few = range.len() <= MOST_MARKS;
    let executed = |point: &HistoryPoint| history.executed.get(&point.commit.id);
    let values: usize = points[range.clone()].iter().filter_map(executed).map(Executed::number).sum();
    let none = Executed::default();
    let mark = |at: usize| {
        let point = &points[at];
        commit_mark(at as u32, point, executed(point).unwrap_or(&none), values <= MOST_VALUES)
    };
    Timeline {
        format: Timeline::FORMAT.to_owned(),
        id: history.id.clone(),
        subject: series.subject.clone(),
        unit: series.unit.clone(),
        tasks: series.tasks,
        is_exact: series.steps.basis == StepBasis::Exact,
        host: series.host.clone(),
        name: history_name(series),
        base: base(points),
        related: related(history, now),
        commits: points.len() as u32,
        from: range.start as u32,
        to: range.end.saturating_sub(1).max(range.start) as u32,
        marks: if are_few { range.clone().map(mark).collect() } else { Vec::new() },
        buckets: if are_few { Vec::new() } else { buckets(points, range, asked.width) },
        whole: buckets(points, 0..points.len(), WHOLE),
        steps: series.steps.steps.iter().map(|step| step_mark(series, step)).collect(),
        least_change: series.steps.least_change,
        quirks: quirk_marks(series),
    }
}

/// Histories of the same repository or subject that share a commit with one. Those of the same
/// subject come first.
fn related(of: &History, now: &Snapshot) -> Vec<RelatedHistory> {
    let commits: HashSet<&str> = of.series.points.iter().map(|point| point.commit.id.as_str()).collect();
    let is_of_subject = |one: &History| one.series.subject == of.series.subject;
    let is_near = |one: &&Arc<History>| is_of_subject(one) || one.series.repository == of.series.repository;
    // Histories most often share their newest commits.
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

/// The histories named by the parameter `with`. Fails if there are too many, one is named twice, or
/// one does not exist.
pub(crate) fn asked_for(query: &Query, now: &Snapshot) -> Result<Vec<Arc<History>>, Problem> {
    const HINT: &str = "`with` takes the identifiers of up to 5 other histories, separated by commas";
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

/// Other histories in a range of one, placed on its line of commits.
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
    let are_few = there.len() <= MOST_MARKS_BESIDE;
    BesideSeries {
        id: other.id.clone(),
        name: history_name(&other.series),
        unit: other.series.unit.clone(),
        is_exact: other.series.quantity.is_counted(),
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
    buckets(points, first..last + 1, width.min(MOST_BUCKETS_BESIDE)).into_iter().filter_map(placed).collect()
}

/// A history with a range of its commits and the steps at them, as data. Positions remain those in
/// the whole history; tables and sentences need the whole ([`faultline_report::history_part`]).
pub(crate) fn commits_of(whole: &HistorySeries, range: &Range<usize>) -> HistorySeries {
    let is_in_it = |step: &&HistoryStep| range.contains(&(step.by as usize));
    let steps = whole.steps.steps.iter().filter(is_in_it).cloned().collect();
    HistorySeries {
        format: whole.format.clone(),
        subject: whole.subject.clone(),
        repository: whole.repository.clone(),
        forge: whole.forge.clone(),
        command: whole.command.clone(),
        workload: whole.workload.clone(),
        has_releases: whole.has_releases,
        quantity: whole.quantity,
        unit: whole.unit.clone(),
        tasks: whole.tasks,
        host: whole.host.clone(),
        conditions: whole.conditions.clone(),
        runs: whole.runs.clone(),
        left_out: whole.left_out.clone(),
        points: whole.points[range.clone()].to_vec(),
        quirks: whole.quirks.clone(),
        unplaced_quirks: whole.unplaced_quirks.clone(),
        steps: HistorySteps { steps, ..whole.steps.clone() },
        by_cpu_time: whole.by_cpu_time.clone(),
        choice: whole.choice,
        load: whole.load,
        moved: whole.moved.clone(),
    }
}
