//! The comparison of two commits of a history.

use super::{Page, PageProblem};
use crate::histories::History;
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::{CommitComparisons, Concluded, Error, ErrorKind, MeasuredCommit, Places, stored};
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult};
use faultline_model::record::RunId;
use faultline_report::site::{PointsPage, Searched, Site, points_page, searches};
use std::collections::BTreeSet;

/// Searches whose results are shown, the newest.
const MOST_SEARCHES: usize = 10;

pub(super) async fn compare(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    let history = state.histories.now().await?.history(&id)?;
    let positions = [position(&history, &query, "a")?, position(&history, &query, "b")?];
    if positions[0] == positions[1] {
        return Err(Problem::bad_request("`a` and `b` are the same commit", "name two commits of the history").into());
    }
    let may_ask = state.may_mark;
    let read = move |places: &_| {
        let comparisons = &mut CommitComparisons::open(places)?;
        shown(&history, positions, may_ask, &Site::served(), (comparisons, places))
    };
    Ok(Page(state.reader.read(read).await?))
}

/// The comparison of the commits at two positions, which are there. Fails if the database cannot be read.
pub(crate) fn shown(
    history: &History,
    positions: [u32; 2],
    may_ask: bool,
    site: &Site,
    (comparisons, places): (&mut CommitComparisons, &Places),
) -> Result<String, Error> {
    let commits = positions.map(|position| measured(&history.series.points[position as usize]));
    let compared = match commits {
        [Ok(a), Ok(b)] => match comparisons.compare(&[a, b]) {
            // What was measured so that nothing can be compared is told on the page, with all else that is known.
            Err(error) if error.kind == ErrorKind::Unanswerable => {
                Err(Problem::of(error, &places.database_name()).problem)
            }
            compared => Ok(compared?),
        },
        [Err(why), _] | [_, Err(why)] => Err(why),
    };
    let searches = searched(&searches_between(&history.series, positions), places);
    let page = PointsPage {
        id: &history.id,
        series: &history.series,
        positions,
        compared: compared.as_ref().map_err(Clone::clone),
        searches: &searches,
        may_ask,
    };
    Ok(points_page(&page, site))
}

/// The searches that looked at the steps between two commits.
fn searches_between(series: &HistorySeries, [a, b]: [u32; 2]) -> BTreeSet<RunId> {
    let is_between = |step: &&HistoryStep| step.by > a.min(b) && step.by <= a.max(b);
    series.steps.steps.iter().filter(is_between).flat_map(searches).collect()
}

/// What the searches found, of those that can be read.
fn searched(runs: &BTreeSet<RunId>, places: &Places) -> Vec<Searched> {
    let found = |run: &RunId| {
        let conclusion = stored::conclusion(Some(*run), places).ok()?;
        let Concluded::Drill(found) = conclusion.what else { return None };
        Some(Searched { head: conclusion.head, found: *found })
    };
    runs.iter().rev().take(MOST_SEARCHES).filter_map(found).collect()
}

/// The position of the commit that a parameter names. Fails if the history does not have it.
fn position(history: &History, query: &Query, name: &str) -> Result<u32, Problem> {
    const HINT: &str = "`a` and `b` are the full names of two commits of the history";
    let Some(commit) = query.text(name) else {
        return Err(Problem::bad_request(format!("`{name}` is missing"), HINT));
    };
    let found = (0..).zip(&history.series.points).find(|(_, point)| point.commit.id == commit);
    found.map(|(position, _)| position).ok_or_else(|| Problem::not_found("the history has no such commit", HINT))
}

/// The commit as it was measured; or in words why it was not.
fn measured(point: &HistoryPoint) -> Result<MeasuredCommit, String> {
    match (&point.result, point.run) {
        (PointResult::Measured { same_as, .. }, Some(run)) => Ok(MeasuredCommit {
            id: point.commit.id.clone(),
            executed: same_as.clone().unwrap_or_else(|| point.commit.id.clone()),
            run,
        }),
        _ => Err("both commits need a value".to_owned()),
    }
}
