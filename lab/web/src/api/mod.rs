//! The JSON API. Every answer is bounded: lists come in pages, and ranges are cut.

mod body;
mod changes;
mod compare;
mod executions;
mod health;
mod histories;
mod jobs;
mod openapi;
mod runs;

use crate::problem::Problem;
use crate::state::State;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

/// The addresses below `/api/v1`.
pub(crate) const PATHS: [&str; 17] = [
    "/health",
    "/runs",
    "/runs/{run}",
    "/runs/{run}/executions",
    "/runs/{run}/executions/{execution}/samples",
    "/compare",
    "/histories",
    "/histories/{history}",
    "/histories/{history}/timeline",
    "/histories/{history}/beside",
    "/histories/{history}/steps",
    "/histories/{history}/changes/{commit}",
    "/changes",
    "/jobs",
    "/histories/{history}/jobs",
    "/jobs/{job}/withdraw",
    "/runs/{run}/executions/{execution}/console",
];

/// The routes below `/api/v1`.
pub(crate) fn routes(state: State) -> Router {
    Router::new()
        .route(PATHS[0], get(health::health))
        .route(PATHS[1], get(runs::list))
        .route(PATHS[2], get(runs::one))
        .route(PATHS[3], get(executions::list))
        .route(PATHS[4], get(executions::samples))
        .route(PATHS[5], get(compare::compare))
        .route(PATHS[6], get(histories::list))
        .route(PATHS[7], get(histories::one))
        .route(PATHS[8], get(histories::timeline))
        .route(PATHS[9], get(histories::beside))
        .route(PATHS[10], get(histories::steps))
        .route(PATHS[11], post(changes::mark).layer(DefaultBodyLimit::max(body::MOST_BYTES)))
        .route(PATHS[12], get(changes::list))
        .route(PATHS[13], get(jobs::list))
        .route(PATHS[14], post(jobs::ask).layer(DefaultBodyLimit::max(body::MOST_BYTES)))
        .route(PATHS[15], post(jobs::withdraw).layer(DefaultBodyLimit::max(body::MOST_BYTES)))
        .route(PATHS[16], get(executions::console))
        .route("/openapi.json", get(openapi::openapi))
        .with_state(state)
}

/// A run's number in an address. Fails if it is none.
pub(crate) fn number(text: &str, what: &str) -> Result<i64, Problem> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Problem::not_found(format!("there is no such {what}"), "it is named by its number"))
}

/// Text that is JSON already.
fn json_text(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_has_the_routes() {
        let description: serde_json::Value = serde_json::from_str(openapi::DESCRIPTION).unwrap();
        let described: BTreeSet<&str> = description["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, BTreeSet::from(PATHS));
    }
}
