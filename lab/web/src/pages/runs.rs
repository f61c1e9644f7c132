//! The list of runs, in pages.

use super::{Page, PageProblem};
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_model::record::RunLine;
use faultline_report::site::{Site, runs_page};

/// Runs in a page.
const MOST: usize = 200;

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["before"])?;
    let before = query.number("before", 1, i64::MAX)?.unwrap_or(i64::MAX);
    let now = state.histories.now().await?;
    let mut older = now.runs.iter().filter(|run| run.id.0 < before);
    let runs: Vec<RunLine> = older.by_ref().take(MOST).cloned().collect();
    let older = older.next().and(runs.last()).map(|last| format!("?before={}", last.id));
    Ok(Page(runs_page(&runs, older.as_deref(), &Site::served())))
}
