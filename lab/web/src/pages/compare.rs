//! The page of a comparison of two runs, or of two commits of any histories: `a` and `b` are numbers of runs, or `HISTORY@COMMIT`.

use super::points::{of_points, position_of};
use super::{Page, PageProblem};
use crate::compared::{Compared, compared};
use crate::histories::{History, Snapshot};
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use faultline_model::commit::short_name;
use faultline_model::history::HistoryPoint;
use faultline_model::plan::KindOfRun;
use faultline_model::record::RunId;
use faultline_report::site::{
    Site, comparison_of_site, history_name, lens_comparison_page, pinned, problem_page_with_ways,
};
use std::collections::BTreeSet;
use std::sync::Arc;

const HINT: &str = "`a` and `b` are the numbers of two runs, or two commits of histories, each as HISTORY@COMMIT";

pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, PageProblem> {
    let query = Query::parse(query.as_deref(), &["a", "b"])?;
    let now = state.histories.now().await?;
    match [point(&query, "a", &now)?, point(&query, "b", &now)?] {
        [Some((a, from)), Some((b, to))] => return Ok(of_points([a, b], [from, to], &state).await?.into_response()),
        [None, None] => {}
        _ => return Err(Problem::bad_request("one of `a` and `b` is a commit, and the other one is not", HINT).into()),
    }
    let site = Site::served();
    if let Some(of_commits) = of_commits(&query, &now, &site) {
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(of_commits)).into_response());
    }
    let page = match compared(&state, &query).await? {
        Compared::Measured(compared) => comparison_of_site(&compared, &site),
        Compared::Counted(compared) => lens_comparison_page(&compared, &site),
    };
    Ok(Page(page).into_response())
}

/// The history and the position of the commit that a parameter names; `None` if it names no commit. Fails if there is no such history or commit.
fn point(query: &Query, name: &str, now: &Snapshot) -> Result<Option<(Arc<History>, u32)>, Problem> {
    let Some((id, commit)) = query.text(name).and_then(|text| text.split_once('@')) else { return Ok(None) };
    let history = now.history(id)?;
    let position = position_of(&history, commit)?;
    Ok(Some((history, position)))
}

/// A page that leads on from two runs of which one measured many commits: these are compared one by one. `None` of other runs, and if one does not exist.
fn of_commits(query: &Query, now: &Snapshot, site: &Site) -> Option<String> {
    let line = |name| {
        let run = query.number(name, 1, i64::MAX).ok().flatten().map(RunId)?;
        now.runs.iter().find(|line| line.id == run)
    };
    let runs = [line("a")?, line("b")?];
    if !runs.iter().any(|run| matches!(run.kind, KindOfRun::History | KindOfRun::Drill)) {
        return None;
    }
    let newest = runs.map(|run| newest(run.id, now));
    let mut ways = Vec::new();
    if let [Some((of_a, a)), Some((of_b, b))] = newest
        && (&of_a.id, &a.commit.id) != (&of_b.id, &b.commit.id)
    {
        let names = [a, b].map(|point| short_name(&point.commit.id));
        let words = format!("Compare the newest commit of each: {} → {}", names[0], names[1]);
        ways.push((words, site.compare_across([(&of_a.id, &a.commit.id), (&of_b.id, &b.commit.id)])));
    }
    let mut named = BTreeSet::new();
    for (run, found) in runs.iter().zip(newest).filter(|(run, _)| named.insert(run.id)) {
        ways.push(match found {
            Some((history, point)) => (
                format!("Run {} belongs to {}", run.id, history_name(&history.series)),
                pinned(&site.history(&history.id), &point.commit.id),
            ),
            None => (format!("Run {}", run.id), site.run(run.id)),
        });
    }
    let problem = "a run that measured many commits is not compared as a whole";
    let hint = "in the plot of a history, pin a commit, choose it as side A, and pin another one";
    Some(problem_page_with_ways(StatusCode::UNPROCESSABLE_ENTITY.as_u16(), problem, Some(hint), &ways, site))
}

/// The newest commit with a value that a run has measured, with its history.
fn newest(run: RunId, now: &Snapshot) -> Option<(&Arc<History>, &HistoryPoint)> {
    now.histories.iter().find_map(|history| {
        let mut points = history.series.points.iter().rev();
        let point = points.find(|point| point.run == Some(run) && point.value().is_some())?;
        Some((history, point))
    })
}
