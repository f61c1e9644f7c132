//! Histories: the list, one with all its commits, and a range of one to be drawn.

use crate::asked_range::Asked;
use crate::histories::{History, measure};
use crate::problem::Problem;
use crate::query::Query;
use crate::related::{asked_for, beside as beside_of};
use crate::state::State;
use crate::thresholds::Threshold;
use crate::timeline::timeline as timeline_of;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_model::history::{HistorySeries, HistoryStep, HistorySteps, PointResult};
use faultline_model::timeline::{Beside, StepMark, StepsFound, Timeline};
use faultline_report::site::step_mark;
use serde::Serialize;
use std::ops::Range;

/// Maximum number of histories in an answer, which is also the usual one.
const MOST_HISTORIES: usize = 200;
/// Commits in an answer, if nothing else is asked for.
const USUAL_COMMITS: usize = 1000;
/// Maximum number of commits in an answer.
const MOST_COMMITS: usize = 5000;

/// Some histories, by subject and number of tasks.
#[derive(Serialize)]
pub(super) struct Histories {
    format: &'static str,
    histories: Vec<Line>,
    /// `from` of the next request; `None` if there are no further histories.
    next: Option<usize>,
}

/// A history without its commits.
#[derive(Serialize)]
struct Line {
    id: String,
    subject: String,
    repository: String,
    measure: &'static str,
    unit: String,
    tasks: u32,
    /// The host on which time was measured; absent of counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Commits of its line, and how many of them were measured.
    commits: usize,
    measured: usize,
    /// Number of steps, and the last one.
    steps: usize,
    last_step: Option<HistoryStep>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Histories>, Problem> {
    let query = Query::parse(query.as_deref(), &["from", "limit"])?;
    let from = query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize;
    let limit = query.number("limit", 1, MOST_HISTORIES)?.unwrap_or(MOST_HISTORIES);
    let now = state.histories.now().await?;
    let (range, next) = page(now.histories.len(), from, limit);
    let histories = now.histories[range].iter().map(|history| line(history)).collect();
    Ok(Json(Histories { format: "faultline-histories/1", histories, next }))
}

/// The range of up to `limit` of `all` from a place on, and where the next one begins, if there is one.
fn page(all: usize, from: usize, limit: usize) -> (Range<usize>, Option<usize>) {
    let begin = from.min(all);
    let end = begin.saturating_add(limit).min(all);
    (begin..end, (end < all).then_some(end))
}

fn line(history: &History) -> Line {
    let series = &history.series;
    let is_measured = |result: &PointResult| matches!(result, PointResult::Measured { .. });
    Line {
        id: history.id.clone(),
        subject: series.subject.clone(),
        repository: series.repository.clone(),
        measure: measure(series.counted),
        unit: series.unit.clone(),
        tasks: series.tasks,
        host: series.host.clone(),
        commits: series.points.len(),
        measured: series.points.iter().filter(|point| is_measured(&point.result)).count(),
        steps: series.steps.steps.len(),
        last_step: series.steps.steps.last().cloned(),
    }
}

/// Some commits of a history with the steps among them.
#[derive(Serialize)]
pub(super) struct OfHistory {
    #[serde(flatten)]
    series: HistorySeries,
    /// Number of all its commits.
    commits: usize,
    /// Position of the first commit here.
    from: usize,
    /// `from` of the next request; `None` if there are no further commits.
    next: Option<usize>,
}

/// The history as `faultline history show --format json` prints it, with a range of its commits.
pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<OfHistory>, Problem> {
    let query = Query::parse(query.as_deref(), &["from", "limit"])?;
    let from = query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize;
    let limit = query.number("limit", 1, MOST_COMMITS)?.unwrap_or(USUAL_COMMITS);
    let now = state.histories.now().await?;
    let whole = &now.history(&id)?.series;
    let (range, next) = page(whole.points.len(), from, limit);
    let is_in_it = |step: &&HistoryStep| range.contains(&(step.by as usize));
    let steps = whole.steps.steps.iter().filter(is_in_it).cloned().collect();
    let series = HistorySeries {
        format: whole.format.clone(),
        subject: whole.subject.clone(),
        repository: whole.repository.clone(),
        command: whole.command.clone(),
        workload: whole.workload.clone(),
        has_releases: whole.has_releases,
        counted: whole.counted,
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
        moved: whole.moved.clone(),
    };
    Ok(Json(OfHistory { series, commits: whole.points.len(), from: range.start, next }))
}

/// A range of its commits, or what they come to where there are many.
pub(super) async fn timeline(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Timeline>, Problem> {
    let query = Query::parse(query.as_deref(), &["from", "to", "width"])?;
    let asked = Asked::parse(&query)?;
    let now = state.histories.now().await?;
    Ok(Json(timeline_of(now.history(&id)?.as_ref(), &asked, &now)))
}

/// Its steps by a smallest change that the reader chooses.
pub(super) async fn steps(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<StepsFound>, Problem> {
    let query = Query::parse(query.as_deref(), &["min_change"])?;
    let asked = query.decimal("min_change", 0.0, 100.0)?;
    let history = state.histories.now().await?.history(&id)?;
    let usual = history.series.steps.least_change;
    let threshold = Threshold::of_percent(asked.unwrap_or(usual * 100.0));
    let found = state.thresholds.steps(&history, threshold, &state.reader).await?;
    let mark =
        |step: &HistoryStep| StepMark { state: String::new(), said: Vec::new(), ..step_mark(&history.series, step) };
    Ok(Json(StepsFound {
        format: StepsFound::FORMAT.to_owned(),
        id: history.id.clone(),
        least_change: found.least_change,
        steps: found.steps.iter().map(mark).collect(),
    }))
}

/// Other histories in a range of one, placed on its line of commits.
pub(super) async fn beside(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Beside>, Problem> {
    let query = Query::parse(query.as_deref(), &["with", "from", "to", "width"])?;
    let asked = Asked::parse(&query)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    Ok(Json(beside_of(&history, &asked_for(&query, &now)?, &asked)))
}
