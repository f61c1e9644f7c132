//! A range of a history as a timeline: its commits if they are few, otherwise in as many buckets as a screen has pixels.

use crate::histories::History;
use crate::problem::Problem;
use crate::query::Query;
use faultline_model::history::{HistoryPoint, StepBasis};
use faultline_model::timeline::Timeline;
use faultline_report::site::{commit_mark, quirk_marks, step_mark};
use faultline_stats::timeline::buckets;
use std::ops::Range;

/// Most commits that are sent one by one.
pub(crate) const MOST_MARKS: usize = 5000;
/// Most single values that are sent with them.
const MOST_VALUES: usize = 20_000;
/// Buckets of the whole history, for the strip above the plot.
const WHOLE: usize = 400;
/// Buckets, if the width is not known.
const USUAL_WIDTH: usize = 1000;
const MOST_WIDTH: usize = 4000;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// First and last position; those of the history if they are not given.
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    /// Pixels.
    pub(crate) width: usize,
}

impl Asked {
    /// From the parameters `from`, `to` and `width`. Fails if one is out of its bounds.
    pub(crate) fn parse(query: &Query) -> Result<Self, Problem> {
        let asked = Asked {
            from: query.number("from", 0, u32::MAX)?,
            to: query.number("to", 0, u32::MAX)?,
            width: query.number("width", 1, MOST_WIDTH)?.unwrap_or(USUAL_WIDTH),
        };
        match (asked.from, asked.to) {
            (Some(from), Some(to)) if from > to => {
                Err(Problem::bad_request("`from` is after `to`", "both are positions of commits, the oldest is 0"))
            }
            _ => Ok(asked),
        }
    }

    /// The positions among so many commits.
    fn range(&self, commits: usize) -> Range<usize> {
        let end = self.to.map_or(commits, |to| to as usize + 1).min(commits);
        (self.from.unwrap_or(0) as usize).min(end)..end
    }
}

/// The timeline of a range.
pub(crate) fn timeline(history: &History, asked: &Asked) -> Timeline {
    let series = &history.series;
    let points = &series.points;
    let range = asked.range(points.len());
    let are_few = range.len() <= MOST_MARKS;
    let values_of = |point: &HistoryPoint| history.values.get(&point.commit.id).map_or(&[][..], Vec::as_slice);
    let values: usize = points[range.clone()].iter().map(|point| values_of(point).len()).sum();
    let mark = |at: usize| {
        let point = &points[at];
        commit_mark(at as u32, point, if values <= MOST_VALUES { values_of(point) } else { &[] })
    };
    Timeline {
        format: Timeline::FORMAT.to_owned(),
        id: history.id.clone(),
        subject: series.subject.clone(),
        unit: series.unit.clone(),
        tasks: series.tasks,
        is_exact: series.steps.basis == StepBasis::Exact,
        commits: points.len() as u32,
        from: range.start as u32,
        to: range.end.saturating_sub(1).max(range.start) as u32,
        marks: if are_few { range.clone().map(mark).collect() } else { Vec::new() },
        buckets: if are_few { Vec::new() } else { buckets(points, range, asked.width) },
        whole: buckets(points, 0..points.len(), WHOLE),
        steps: series.steps.steps.iter().map(|step| step_mark(series, step)).collect(),
        quirks: quirk_marks(series),
    }
}
