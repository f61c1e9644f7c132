//! Runs: the list, and the conclusion of one.

use super::{json_text, number};
use crate::problem::Problem;
use crate::query::Query;
use crate::rows::{Rows, commits_of};
use crate::state::State;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::header::LINK;
use axum::response::{AppendHeaders, IntoResponse, Response};
use faultline_experiment::{Concluded, Conclusion, stored};
use faultline_model::record::{RunId, RunLine};
use faultline_report::{Format, Style};
use faultline_stats::history::{HistoryRun, series_of_run};
use serde::Serialize;
use std::mem::take;

/// Runs in an answer, if nothing else is asked for.
const USUAL_RUNS: usize = 100;
/// Maximum number of runs in an answer.
const MOST_RUNS: usize = 1000;
/// Rows of a run in an answer, if nothing else is asked for.
const USUAL_ROWS: usize = 200;
/// Maximum number of rows of a run in an answer.
const MOST_ROWS: usize = 5000;

/// Some runs, the newest first.
#[derive(Serialize)]
pub(super) struct Runs {
    format: &'static str,
    runs: Vec<RunLine>,
    /// `before` of the next request; `None` if there are no older runs.
    next: Option<i64>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Runs>, Problem> {
    let query = Query::parse(query.as_deref(), &["before", "limit"])?;
    let before = query.number("before", 1, i64::MAX)?.unwrap_or(i64::MAX);
    let limit = query.number("limit", 1, MOST_RUNS)?.unwrap_or(USUAL_RUNS);
    let now = state.histories.now().await?;
    let mut older = now.runs.iter().filter(|run| run.id.0 < before);
    let runs: Vec<RunLine> = older.by_ref().take(limit).cloned().collect();
    let next = older.next().and(runs.last()).map(|last| last.id.0);
    Ok(Json(Runs { format: "faultline-runs/1", runs, next }))
}

/// The conclusion of a run, as `faultline show --format json` prints it, with some of its rows: commits of a run of a history, otherwise workloads. The header `Link`
/// leads to those that follow.
pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Query::parse(query.as_deref(), &["from", "limit"])?;
    let rows = Rows::parse(&query, USUAL_ROWS, MOST_ROWS)?;
    let run = RunId(number(&run, "run")?);
    let read = move |places: &_| Ok(shown(stored::conclusion(Some(run), places)?, rows));
    let (text, next) = state.reader.read(read).await?;
    let link = next.map(|from| format!("</api/v1/runs/{run}?from={from}&limit={}>; rel=\"next\"", rows.limit));
    Ok((AppendHeaders(link.map(|link| (LINK, link))), json_text(text)).into_response())
}

/// Some rows of a conclusion as JSON, and where the next ones begin. A search has no rows.
fn shown(Conclusion { head, what, .. }: Conclusion, rows: Rows) -> (String, Option<usize>) {
    let (format, style) = (Format::Json, &Style::PLAIN);
    match what {
        Concluded::Figures(mut summary) => {
            let (curves, next) = rows.of(take(&mut summary.curves));
            summary.curves = curves;
            (faultline_report::run_table(&summary, format, style), next)
        }
        Concluded::Comparison(mut comparison) => {
            let (workloads, next) = rows.of(take(&mut comparison.workloads));
            comparison.workloads = workloads;
            (faultline_report::comparison(&comparison, format, style), next)
        }
        Concluded::Fitness(mut fitness) => {
            let (workloads, next) = rows.of(take(&mut fitness.compared.workloads));
            fitness.compared.workloads = workloads;
            (faultline_report::fitness(&fitness, format, style), next)
        }
        Concluded::Drill(drill) => (faultline_report::drill(&drill, &head, format, style), None),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head: &head, results: &results });
            let (range, next) = rows.among(series.as_ref().map_or(0, |series| series.points.len()));
            let some = series.map(|series| commits_of(&series, &range));
            (faultline_report::history(some.as_slice(), format, style), next)
        }
    }
}
