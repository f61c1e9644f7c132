//! The description of the API, in OpenAPI 3.1. A test compares it with the routes and their parameters.

use super::json_text;
use crate::problem::Problem;
use crate::query::Query;
use axum::extract::RawQuery;
use axum::response::Response;

/// The description.
pub(super) const DESCRIPTION: &str = include_str!("openapi.json");

pub(super) async fn openapi(RawQuery(query): RawQuery) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    Ok(json_text(DESCRIPTION.to_owned()))
}
