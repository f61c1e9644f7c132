//! A range of a history as a timeline: its commits if they are few, otherwise in as many buckets as a screen has pixels.

use crate::asked_range::Asked;
use crate::histories::{History, Snapshot};
use crate::related::related;
use faultline_model::history::{HistoryPoint, StepBasis};
use faultline_model::timeline::Timeline;
use faultline_report::site::{Executed, commit_mark, history_name, quirk_marks, step_mark};
use faultline_stats::timeline::{base, buckets};

/// Most commits that are sent one by one.
pub(crate) const MOST_MARKS: usize = 5000;
/// Most single values that are sent with them.
const MOST_VALUES: usize = 20_000;
/// Buckets of the whole history, for the strip above the plot.
const WHOLE: usize = 400;

/// The timeline of a range. `now`: what else is in the database.
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
