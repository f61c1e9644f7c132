//! The body of a request that writes: JSON, which forms of other sites cannot send without being asked.

use crate::problem::Problem;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

/// Most bytes of a body.
pub(super) const MOST_BYTES: usize = 16 * 1024;

/// What an address takes, as a hint.
pub(super) struct Body(pub(super) &'static str);

/// What a body says. Fails if it is not the JSON that is taken.
pub(super) fn parsed<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    taken: &Body,
) -> Result<T, Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not JSON", taken.0));
    }
    let body = body.map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long", taken.0))?;
    serde_json::from_slice(&body).map_err(|_| Problem::bad_request("the body is not what this address takes", taken.0))
}
