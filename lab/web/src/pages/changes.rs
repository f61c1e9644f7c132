//! The work list of changes, and the feed of them.

use super::{Page, PageProblem};
use crate::changes::{Change, Wanted, changes as changes_of, entries, feed_name};
use crate::histories::Snapshot;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use faultline_report::site::{ChangesPage, Site, changes_feed, changes_page};

/// Changes in a page.
const MOST: usize = 200;
/// Changes in the feed.
const MOST_ENTRIES: usize = 100;

pub(super) async fn changes(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["from"])?;
    let from = query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize;
    let now = state.histories.now().await?;
    let all = changes_of(&now, Wanted::All);
    let next = from.saturating_add(MOST);
    let page = ChangesPage {
        changes: all.iter().skip(from).take(MOST).map(Change::row).collect(),
        further: (next < all.len()).then(|| format!("?from={next}")),
        may_mark: state.may_mark,
    };
    Ok(Page(changes_page(&page, &Site::served())))
}

/// All changes on one page, as a file.
pub(crate) fn whole(now: &Snapshot, site: &Site) -> String {
    let changes = changes_of(now, Wanted::All).iter().map(Change::row).collect();
    changes_page(&ChangesPage { changes, further: None, may_mark: false }, site)
}

pub(super) async fn feed(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, PageProblem> {
    Query::parse(query.as_deref(), &[])?;
    let now = state.histories.now().await?;
    let feed = feed_of(&now, &state.reader.database(), &Site::served());
    Ok(([(CONTENT_TYPE, "application/atom+xml; charset=utf-8")], feed).into_response())
}

/// The feed of a database with that name.
pub(crate) fn feed_of(now: &Snapshot, database: &str, site: &Site) -> String {
    changes_feed(&feed_name(database), &entries(now, MOST_ENTRIES), site)
}
