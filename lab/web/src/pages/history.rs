//! The page of a history.

use super::{Page, PageProblem};
use crate::asked_range::Asked;
use crate::histories::{History, Snapshot};
use crate::query::Query;
use crate::state::State;
use crate::timeline::timeline;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_model::timeline::Timeline;
use faultline_report::site::{Site, TimelineFiles, TimelinePage, timeline_page};

pub(super) async fn history(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["from", "to"])?;
    let asked = Asked::parse(&query)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    let drawn = timeline(&history, &asked, &now);
    Ok(Page(shown(&history, &drawn, &now, state.may_mark, None, &Site::served())))
}

/// The page of a history. `drawn`: the range of it that is drawn. `files`: what is in files beside it.
pub(crate) fn shown(
    history: &History,
    drawn: &Timeline,
    now: &Snapshot,
    may_mark: bool,
    files: Option<&TimelineFiles>,
    site: &Site,
) -> String {
    let siblings = now.siblings(history);
    let page = TimelinePage {
        series: &history.series,
        timeline: drawn,
        siblings: siblings.iter().map(|one| (one.series.tasks, one.id.as_str())).collect(),
        may_mark,
        goes_on: history.goes_on(),
        files,
    };
    timeline_page(&page, site)
}
