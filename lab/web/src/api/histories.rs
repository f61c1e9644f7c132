//! Histories: the list, one with all its commits, and a range of one to be drawn.

use crate::histories::{History, measure};
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use crate::timeline::{Asked, timeline as timeline_of};
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_model::history::{HistorySeries, HistoryStep, PointResult};
use faultline_model::timeline::Timeline;
use serde::Serialize;

/// All histories.
#[derive(Serialize)]
pub(super) struct Histories {
    format: &'static str,
    histories: Vec<Line>,
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
    /// Commits of its line, and how many of them were measured.
    commits: usize,
    measured: usize,
    /// Number of steps, and the last one.
    steps: usize,
    last_step: Option<HistoryStep>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Histories>, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let now = state.histories.now().await?;
    let histories = now.histories.iter().map(|history| line(history)).collect();
    Ok(Json(Histories { format: "faultline-histories/1", histories }))
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
        commits: series.points.len(),
        measured: series.points.iter().filter(|point| is_measured(&point.result)).count(),
        steps: series.steps.steps.len(),
        last_step: series.steps.steps.last().cloned(),
    }
}

/// The history, as `faultline history show --format json` prints it.
pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<HistorySeries>, Problem> {
    Query::parse(query.as_deref(), &[])?;
    Ok(Json(state.histories.now().await?.history(&id)?.series.clone()))
}

/// A range of its commits, or what they come to where there are many.
pub(super) async fn timeline(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Timeline>, Problem> {
    let query = Query::parse(query.as_deref(), &["from", "to", "width"])?;
    let asked = Asked::parse(&query)?;
    let history = state.histories.now().await?.history(&id)?;
    Ok(Json(timeline_of(&history, &asked)))
}
