//! Whether the server can answer.

use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::Json;
use axum::extract::{RawQuery, State as Shared};
use serde::Serialize;

/// The server answers, and can read its database.
#[derive(Serialize)]
pub(super) struct Health {
    format: &'static str,
    /// Version of the program.
    version: &'static str,
    /// Runs in the database.
    runs: usize,
    /// Histories in the database.
    histories: usize,
    /// Runs of histories that cannot be read.
    unreadable: usize,
}

pub(super) async fn health(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Health>, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let now = state.histories.now().await?;
    Ok(Json(Health {
        format: "faultline-health/1",
        version: env!("CARGO_PKG_VERSION"),
        runs: now.runs.len(),
        histories: now.histories.len(),
        unreadable: now.unreadable.len(),
    }))
}
