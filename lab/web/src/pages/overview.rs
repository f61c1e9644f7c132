//! The overview of histories and runs.

use super::{Page, PageProblem};
use crate::histories::Snapshot;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_model::record::{RunLine, RunState};
use faultline_report::site::{HistoryRow, Overview, Site, overview_page};
use faultline_stats::timeline::buckets;

/// Histories in a page.
const MOST: usize = 200;
/// Buckets of a line in the overview: more would not be seen.
const BUCKETS: usize = 80;
/// Finished runs that are shown.
const RECENT: usize = 10;
/// Unfinished runs that are shown.
const OPEN: usize = 20;

pub(super) async fn overview(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["from"])?;
    let from = query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize;
    let now = state.histories.now().await?;
    Ok(Page(shown(&now, from, MOST, &Site::served())))
}

/// The overview of what is in a database, with up to `most` histories from a place on.
pub(crate) fn shown(now: &Snapshot, from: usize, most: usize, site: &Site) -> String {
    let next = from.saturating_add(most);
    let histories = now.histories.iter().skip(from).take(most).map(|history| HistoryRow {
        id: &history.id,
        series: &history.series,
        buckets: buckets(&history.series.points, 0..history.series.points.len(), BUCKETS),
    });
    let runs = |state: RunState, most: usize| now.runs.iter().filter(move |run| run.state == state).take(most).cloned();
    let runs: Vec<RunLine> = runs(RunState::Open, OPEN).chain(runs(RunState::Finished, RECENT)).collect();
    let overview = Overview {
        histories: histories.collect(),
        total: now.histories.len(),
        further: (next < now.histories.len()).then(|| format!("?from={next}")),
        runs,
        machines: &now.machines,
        unreadable: &now.unreadable,
    };
    overview_page(&overview, site)
}
