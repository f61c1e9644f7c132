//! Addresses of the server, by subject: pages, which `report` draws, and operations of the JSON
//! API. Answers are bounded: lists come in pages, and ranges are cut. An address holds the whole
//! state of a page.

pub(crate) mod changes;
mod commits;
mod compare;
mod executions;
mod histories;
mod jobs;
mod overview;
mod runs;

pub(crate) use commits::shown as commits_page;
pub(crate) use histories::shown as history_page;
pub(crate) use overview::{machines_shown, overview_shown};
pub(crate) use runs::shown as run_page;

use crate::operation::{MOST_BODY_BYTES, Operation, description};
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::Router;
use axum::extract::{DefaultBodyLimit, RawQuery};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use std::sync::LazyLock;

/// The operations of the API, with their handlers.
fn operations() -> [(Operation, MethodRouter<State>); 17] {
    [
        (overview::HEALTH, get(overview::health)),
        (runs::LIST, get(runs::list)),
        (runs::ONE, get(runs::one)),
        (executions::LIST, get(executions::list)),
        (executions::SAMPLES, get(executions::samples)),
        (executions::CONSOLE, get(executions::console)),
        (compare::COMPARE, get(compare::compare)),
        (histories::LIST, get(histories::list)),
        (histories::ONE, get(histories::one)),
        (histories::TIMELINE, get(histories::timeline)),
        (histories::BESIDE, get(histories::beside)),
        (histories::STEPS, get(histories::steps)),
        (changes::LIST, get(changes::list)),
        (changes::MARK, post(changes::mark)),
        (jobs::LIST, get(jobs::list)),
        (jobs::ASK, post(jobs::ask)),
        (jobs::WITHDRAW, post(jobs::withdraw)),
    ]
}

/// The description of the API.
static DESCRIPTION: LazyLock<String> = LazyLock::new(|| description(&operations().map(|(operation, _)| operation)));

/// The routes below `/api/v1`.
pub(crate) fn api(state: State) -> Router {
    let routes = operations().into_iter().fold(Router::new(), |routes, (operation, handler)| {
        routes.route(operation.path, handler.layer(DefaultBodyLimit::max(MOST_BODY_BYTES)))
    });
    routes.route("/openapi.json", get(openapi)).with_state(state)
}

async fn openapi(RawQuery(query): RawQuery) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    Ok(json_text(DESCRIPTION.clone()))
}

/// The routes of pages.
pub(crate) fn pages(state: State) -> Router {
    Router::new()
        .route("/", get(overview::page))
        .route("/machines", get(overview::machines))
        .route("/assets/{name}", get(overview::asset))
        .route("/runs", get(runs::list_page))
        .route("/runs/{run}", get(runs::page))
        .route("/runs/{run}/executions", get(executions::list_page))
        .route("/runs/{run}/executions/{execution}", get(executions::page))
        .route("/changes", get(changes::page))
        .route("/changes.atom", get(changes::feed))
        .route("/jobs", get(jobs::page))
        .route("/compare", get(compare::page))
        .route("/histories/{history}", get(histories::page))
        .route("/histories/{history}/compare", get(commits::page))
        .with_state(state)
}

/// The number of an object in an address. Fails if it is not a positive number.
fn number(text: &str, what: &str) -> Result<i64, Problem> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Problem::not_found(format!("there is no such {what}"), "use its number"))
}

/// An answer that is JSON text already.
fn json_text(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
