//! The pages. What they show is read here; how it looks belongs to `report`. The whole state of a page is in its address.

mod assets;
pub(crate) mod changes;
mod compare;
mod executions;
pub(crate) mod history;
mod jobs;
pub(crate) mod machines;
pub(crate) mod overview;
pub(crate) mod points;
pub(crate) mod run;
mod runs;

use crate::page::{Page, PageProblem};
use crate::state::State;
use axum::Router;
use axum::routing::get;

/// The addresses of pages.
pub(crate) fn routes(state: State) -> Router {
    Router::new()
        .route("/", get(overview::overview))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(run::run))
        .route("/runs/{run}/executions", get(executions::list))
        .route("/runs/{run}/executions/{execution}", get(executions::one))
        .route("/machines", get(machines::machines))
        .route("/changes", get(changes::changes))
        .route("/changes.atom", get(changes::feed))
        .route("/jobs", get(jobs::list))
        .route("/compare", get(compare::compare))
        .route("/histories/{history}", get(history::history))
        .route("/histories/{history}/compare", get(points::compare))
        .route("/assets/{name}", get(assets::asset))
        .with_state(state)
}
