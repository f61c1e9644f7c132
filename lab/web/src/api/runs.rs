//! Runs: the list, and the conclusion of one.

use super::{json_text, number};
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::response::Response;
use faultline_experiment::{Concluded, Conclusion, stored};
use faultline_model::record::{RunId, RunLine};
use faultline_report::{Format, Style};
use faultline_stats::history::{HistoryRun, series_of_run};
use serde::Serialize;

/// Runs in an answer, if nothing else is asked for.
const USUAL_RUNS: usize = 100;
/// Maximum number of runs in an answer.
const MOST_RUNS: usize = 1000;

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

/// The conclusion of a run, as `faultline show --format json` prints it.
pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let run = RunId(number(&run, "run")?);
    let read = move |places: &_| Ok(shown(&stored::conclusion(Some(run), places)?));
    Ok(json_text(state.reader.read(read).await?))
}

fn shown(conclusion: &Conclusion) -> String {
    let (format, style) = (Format::Json, &Style::PLAIN);
    match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::run_table(summary, format, style),
        Concluded::Comparison(comparison) => faultline_report::comparison(comparison, format, style),
        Concluded::Fitness(fitness) => faultline_report::fitness(fitness, format, style),
        Concluded::Drill(drill) => faultline_report::drill(drill, &conclusion.head, format, style),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head: &conclusion.head, results });
            faultline_report::history(series.as_slice(), format, style)
        }
    }
}
