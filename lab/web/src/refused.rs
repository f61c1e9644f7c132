//! Requests that no handler answers: as JSON below `/api`, otherwise as a page.

use crate::page::PageProblem;
use crate::problem::Problem;
use axum::extract::Request;
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;

/// The answer to a request that is not met, in the form that its address has.
pub(crate) fn refused(problem: Problem, uri: &Uri) -> Response {
    match is_of_api(uri.path()) {
        true => problem.into_response(),
        false => PageProblem::from(problem).into_response(),
    }
}

fn is_of_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// Refuses an address that is not UTF-8. A handler that takes a part of it as text would not be called, and its client would get bare text.
pub(crate) async fn unreadable(request: Request, next: Next) -> Response {
    match percent_decode_str(request.uri().path()).decode_utf8() {
        Ok(_) => next.run(request).await,
        Err(_) => refused(
            Problem::bad_request("the address is not UTF-8", "each `%` and two digits of it are a byte of UTF-8"),
            request.uri(),
        ),
    }
}

/// Nothing has the address.
pub(crate) async fn unknown(uri: Uri) -> Response {
    let (problem, hint) = match is_of_api(uri.path()) {
        true => ("there is no such address", "`/api/v1/openapi.json` describes all"),
        false => ("there is no such page", "the links above lead to those that are there"),
    };
    refused(Problem::not_found(problem, hint), &uri)
}

/// The address answers other methods. Only those pass the guard that read or write.
pub(crate) async fn other_method(method: Method, uri: Uri) -> Response {
    let problem = if method == Method::POST { Problem::read_only() } else { Problem::write_only() };
    refused(problem, &uri)
}
