//! The page of a comparison of two runs.

use super::{Page, PageProblem};
use crate::compared::{Compared, compared};
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_report::site::{Site, comparison_of_site, lens_comparison_page};

pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    let site = Site::served();
    Ok(Page(match compared(&state, &query).await? {
        Compared::Measured(compared) => comparison_of_site(&compared, &site),
        Compared::Counted(compared) => lens_comparison_page(&compared, &site),
    }))
}
