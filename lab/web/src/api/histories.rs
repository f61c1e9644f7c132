//! Histories: the list, one with all its commits, and a range of one to be drawn.

use crate::asked_range::Asked;
use crate::histories::{History, measure};
use crate::problem::Problem;
use crate::query::Query;
use crate::related::{asked_for, beside as beside_of};
use crate::rows::{Rows, commits_of};
use crate::state::State;
use crate::thresholds::{Threshold, told};
use crate::timeline::timeline as timeline_of;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_model::history::{HistorySeries, HistoryStep, PointResult};
use faultline_model::timeline::{Beside, StepsFound, Timeline};
use serde::Serialize;

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
    let rows = Rows::parse(&query, MOST_HISTORIES, MOST_HISTORIES)?;
    let now = state.histories.now().await?;
    let (range, next) = rows.among(now.histories.len());
    let histories = now.histories[range].iter().map(|history| line(history)).collect();
    Ok(Json(Histories { format: "faultline-histories/1", histories, next }))
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
    let rows = Rows::parse(&query, USUAL_COMMITS, MOST_COMMITS)?;
    let now = state.histories.now().await?;
    let whole = &now.history(&id)?.series;
    let (range, next) = rows.among(whole.points.len());
    let series = commits_of(whole, &range);
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
    Ok(Json(told(&history, &found)))
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
