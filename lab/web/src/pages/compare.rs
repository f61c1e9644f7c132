//! The page of a comparison of two runs.

use super::{Page, PageProblem};
use crate::compared::compared;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_report::site::{Site, comparison_of_site};

pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    Ok(Page(comparison_of_site(&compared(&state, &query).await?, &Site::served())))
}
