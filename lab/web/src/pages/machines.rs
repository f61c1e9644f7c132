//! The machines on which runs were measured.

use super::{Page, PageProblem};
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_experiment::{Error, Places, stored};
use faultline_report::site::{Site, machines_page};
use faultline_stats::machines::machines as machines_of;

/// Starts of runs whose facts are read.
const MOST: u32 = 500;

pub(super) async fn machines(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    Query::parse(query.as_deref(), &[])?;
    Ok(Page(state.reader.read(|places| shown(places, &Site::served())).await?))
}

/// The page of the machines that a database knows. Fails if it cannot be read.
pub(crate) fn shown(places: &Places, site: &Site) -> Result<String, Error> {
    let sessions = stored::newest_facts(MOST, places)?;
    Ok(machines_page(&machines_of(&sessions), sessions.len() == MOST as usize, site))
}
