//! The comparison of two stored runs.

use super::json_text;
use crate::compared::compared;
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use axum::response::Response;
use faultline_report::{Format, Style};

/// The comparison, as `faultline compare A B --format json` prints it.
pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    let compared = compared(&state, &query).await?;
    Ok(json_text(faultline_report::comparison(&compared, Format::Json, &Style::PLAIN)))
}
