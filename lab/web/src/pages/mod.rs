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

use crate::problem::{Problem, with_retry};
use crate::state::State;
use crate::unchanged::tag;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, ETAG};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use faultline_report::site::{Site, problem_page};

/// What a page may do: its script and style come from us, and so does what it asks for. Bars have their widths in attributes, and the plots' library
/// brings style of its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

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
        .fallback(|| async {
            PageProblem(Problem::not_found("there is no such page", "the links above lead to those that are there"))
        })
        .with_state(state)
}

/// A page.
pub(crate) struct Page(pub(crate) String);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = HeaderValue::from_static(POLICY);
        ([(CONTENT_SECURITY_POLICY, policy), (ETAG, tag(&self.0))], Html(self.0)).into_response()
    }
}

/// Why there is no page, as a page.
pub(crate) struct PageProblem(Problem);

impl From<Problem> for PageProblem {
    fn from(problem: Problem) -> Self {
        PageProblem(problem)
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let Problem { status, problem, hint } = self.0;
        let page = problem_page(status.as_u16(), &problem, hint.as_deref(), &Site::served());
        with_retry((status, Page(page)).into_response())
    }
}
