//! Runs: the list, and the conclusion of one.

use super::{json_text, number};
use crate::histories::Snapshot;
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query, Rows};
use crate::state::State;
use crate::timeline::commits_of;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::StatusCode;
use axum::http::header::LINK;
use axum::response::{AppendHeaders, IntoResponse, Response};
use faultline_experiment::{Concluded, Conclusion, stored};
use faultline_record::record::{RunId, RunLine};
use faultline_report::site::{Site, bisect_page, comparison_of_site, run_of_site, runs_page, text_page};
use faultline_report::{Format, Style};
use faultline_stats::bisect::BisectResult;
use faultline_stats::comparison::{Comparison, Fitness};
use faultline_stats::history::{HistoryRun, HistorySeries, series_of_run};
use faultline_stats::summary::RunSummary;
use schemars::JsonSchema;
use serde::Serialize;
use std::mem::take;

/// Default number of runs in an answer.
const USUAL_RUNS: usize = 100;
/// Maximum number of runs in an answer.
const MOST_RUNS: i64 = 1000;
/// Runs on a page.
const RUNS_ON_PAGE: usize = 200;
/// Default number of a run's rows in an answer.
const USUAL_ROWS: usize = 200;
/// Maximum number of a run's rows in an answer.
const MOST_ROWS: i64 = 5000;
/// Commits on the page of a history's run.
const COMMITS_ON_PAGE: usize = 1000;

const FORMAT: &str = "faultline-runs/1";
const BEFORE: Parameter = Parameter::integer("before", 1, i64::MAX, "Only runs with a smaller number");

/// Lists runs.
pub(super) const LIST: Operation = Operation::get("/runs", "runs", "Runs, newest first")
    .takes(&[BEFORE, Parameter::limit(MOST_RUNS, "Maximum number of runs; by default 100")])
    .answers(&[schema_of::<Runs>]);

/// Runs, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Runs {
    #[schemars(extend("const" = FORMAT))]
    format: &'static str,
    runs: Vec<RunLine>,
    /// `before` of the next request; null after the last runs.
    next: Option<i64>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Runs>, Problem> {
    let query = LIST.query(query.as_deref())?;
    let limit = query.number("limit")?.unwrap_or(USUAL_RUNS);
    let now = state.histories.now().await?;
    let (runs, is_more) = before(&now, query.number("before")?, limit);
    let next = runs.last().filter(|_| is_more).map(|last| last.id.0);
    Ok(Json(Runs { format: FORMAT, runs, next }))
}

pub(super) async fn list_page(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[BEFORE])?;
    let now = state.histories.now().await?;
    let (runs, is_more) = before(&now, query.number("before")?, RUNS_ON_PAGE);
    let older = runs.last().filter(|_| is_more).map(|last| format!("?before={}", last.id));
    Ok(Page(runs_page(&runs, older.as_deref(), &Site::served())))
}

/// At most `limit` runs with smaller numbers, newest first, and true if there are more.
fn before(now: &Snapshot, before: Option<i64>, limit: usize) -> (Vec<RunLine>, bool) {
    let mut older = now.runs.iter().filter(|run| before.is_none_or(|before| run.id.0 < before));
    let runs = older.by_ref().take(limit).cloned().collect();
    (runs, older.next().is_some())
}

/// Shows the conclusion of a run.
pub(super) const ONE: Operation = Operation::get(
    "/runs/{run}",
    "run",
    "The conclusion of a run with some of its rows, as `faultline show --format json` prints it. Rows are commits for a history, \
     otherwise workloads. A search has none",
)
.takes(&[
    Parameter::from("Position of the first row, from 0"),
    Parameter::limit(MOST_ROWS, "Maximum number of rows; by default 200"),
])
.answers(&[
    schema_of::<RunSummary>,
    schema_of::<Comparison>,
    schema_of::<Fitness>,
    schema_of::<BisectResult>,
    schema_of::<Vec<HistorySeries>>,
])
.linked()
.refuses(&[(StatusCode::UNPROCESSABLE_ENTITY, "The saved data cannot be read, or give no answer")]);

pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let rows = ONE.query(query.as_deref())?.rows(USUAL_ROWS)?;
    let run = RunId(number(&run, "run")?);
    let read = move |places: &_| Ok(json(stored::conclusion(Some(run), places)?, rows));
    let (text, next) = state.reader.read_whole_runs(read).await?;
    let link = next.map(|from| format!("</api/v1/runs/{run}?from={from}&limit={}>; rel=\"next\"", rows.limit));
    Ok((AppendHeaders(link.map(|link| (LINK, link))), json_text(text)).into_response())
}

/// Some rows of a conclusion as JSON, and the position of the next row, if there is one.
fn json(Conclusion { head, what, .. }: Conclusion, rows: Rows) -> (String, Option<usize>) {
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
        Concluded::Bisect(found) => (faultline_report::bisect(&found, &head, format, style), None),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head: &head, results: &results });
            let (range, next) = rows.among(series.as_ref().map_or(0, |series| series.points.len()));
            let some = series.map(|series| commits_of(&series, &range));
            (faultline_report::history(some.as_slice(), format, style), next)
        }
    }
}

/// The page of a run: the file that `faultline show -o` writes, or else its table.
pub(super) async fn page(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[Parameter::from("Position of the first commit")])?;
    let rows = query.rows(COMMITS_ON_PAGE)?;
    let run = RunId(number(&run, "run")?);
    let now = state.histories.now().await?;
    let shown = move |places: &_| Ok(shown(&stored::conclusion(Some(run), places)?, rows, &now, &Site::served()));
    Ok(Page(state.reader.read_whole_runs(shown).await?))
}

/// The page of a conclusion, with some rows if it is a history's.
pub(crate) fn shown(conclusion: &Conclusion, rows: Rows, now: &Snapshot, site: &Site) -> String {
    let head = &conclusion.head;
    let style = &Style { unicode: true, ..Style::PLAIN };
    match &conclusion.what {
        Concluded::Figures(summary) => run_of_site(summary, head, site),
        Concluded::Comparison(comparison) => comparison_of_site(comparison, site),
        Concluded::Fitness(fitness) => comparison_of_site(&fitness.compared, site),
        Concluded::Bisect(found) => bisect_page(found, head, site),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head, results });
            let (range, next) = rows.among(series.as_ref().map_or(0, |series| series.points.len()));
            let text = series.map(|series| faultline_report::history_part(&series, &range, style)).unwrap_or_default();
            let further = next.map(|from| format!("?from={from}"));
            let whole = now.histories.iter().find(|history| history.has_run(head.id));
            text_page(head, &text, whole.map(|history| history.id.as_str()), further.as_deref(), site)
        }
    }
}
