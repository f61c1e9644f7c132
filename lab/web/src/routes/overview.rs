//! The overview of a database, its machines, the health of the server, and files of pages.

use crate::histories::Snapshot;
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use faultline_experiment::{Error, Places, stored};
use faultline_record::record::{RunLine, RunState};
use faultline_report::site::{ASSETS, HistoryRow, Overview, Site, machines_page, overview_page};
use faultline_stats::machines::machines as machines_of;
use faultline_stats::timeline::buckets;
use schemars::JsonSchema;
use serde::Serialize;

/// Histories on a page.
const HISTORIES_ON_PAGE: usize = 200;
/// Buckets of a history's line in the overview. More would be invisible.
const BUCKETS: usize = 80;
/// Finished runs in the overview.
const RECENT: usize = 10;
/// Unfinished runs in the overview.
const OPEN: usize = 20;
/// Sessions whose facts are read for the page of machines.
const MOST_SESSIONS: u32 = 500;

const HEALTH_FORMAT: &str = "faultline-health/1";

pub(super) async fn page(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[Parameter::from("Number of histories to skip")])?;
    let from = query.number("from")?.unwrap_or(0);
    let now = state.histories.now().await?;
    Ok(Page(overview_shown(&now, from, HISTORIES_ON_PAGE, &Site::served())))
}

/// The overview of a database, with at most `most` histories from a position on.
pub(crate) fn overview_shown(now: &Snapshot, from: usize, most: usize, site: &Site) -> String {
    let next = from.saturating_add(most);
    let histories = now.histories.iter().skip(from).take(most).map(|history| HistoryRow {
        id: &history.id,
        series: &history.series,
        buckets: buckets(&history.series.points, 0..history.series.points.len(), BUCKETS),
    });
    let runs = |state: RunState, most: usize| now.runs.iter().filter(move |run| run.state == state).take(most).cloned();
    let runs: Vec<RunLine> = runs(RunState::Open, OPEN).chain(runs(RunState::Finished, RECENT)).collect();
    let overview = Overview {
        histories: histories.collect(),
        total: now.histories.len(),
        further: (next < now.histories.len()).then(|| format!("?from={next}")),
        runs,
        machines: &now.machines,
        unreadable: &now.unreadable,
    };
    overview_page(&overview, site)
}

pub(super) async fn machines(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    Query::parse(query.as_deref(), &[])?;
    Ok(Page(state.reader.read(|places| machines_shown(places, &Site::served())).await?))
}

/// The page of a database's machines. Fails if the database cannot be read.
pub(crate) fn machines_shown(places: &Places, site: &Site) -> Result<String, Error> {
    let sessions = stored::newest_facts(MOST_SESSIONS, places)?;
    Ok(machines_page(&machines_of(&sessions), sessions.len() == MOST_SESSIONS as usize, site))
}

/// Shows that the server answers and can read its database.
pub(super) const HEALTH: Operation =
    Operation::get("/health", "health", "Health of the server").answers(&[schema_of::<Health>]);

/// Health of the server.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    #[schemars(extend("const" = HEALTH_FORMAT))]
    format: &'static str,
    /// Version of the program.
    version: &'static str,
    /// Number of runs in the database.
    runs: usize,
    /// Number of histories in the database.
    histories: usize,
    /// Number of runs of histories that cannot be read.
    unreadable: usize,
}

pub(super) async fn health(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Health>, Problem> {
    HEALTH.query(query.as_deref())?;
    let now = state.histories.now().await?;
    Ok(Json(Health {
        format: HEALTH_FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        runs: now.runs.len(),
        histories: now.histories.len(),
        unreadable: now.unreadable.len(),
    }))
}

/// Script and style. Their names change with their content, so browsers keep them. No file system
/// is read.
pub(super) async fn asset(Path(name): Path<String>) -> Result<Response, PageProblem> {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    let asset =
        found.ok_or_else(|| Problem::not_found("there is no such file", "pages name the files that they need"))?;
    let headers = [(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
