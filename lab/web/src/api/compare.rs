//! The comparison of two stored runs.

use super::json_text;
use crate::compared::{Compared, compared};
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use axum::response::Response;
use faultline_report::{Format, Style};

/// The comparison, as `faultline compare A B --format json` prints it; of two runs under the lens, as `faultline lens compare` does.
pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    let (format, style) = (Format::Json, &Style::PLAIN);
    Ok(json_text(match compared(&state, &query).await? {
        Compared::Measured(compared) => faultline_report::comparison(&compared, format, style),
        Compared::Counted(compared) => faultline_report::lens_compare_table(&compared, format, style),
    }))
}
