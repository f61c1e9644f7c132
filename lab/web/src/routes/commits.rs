//! The page that compares two commits of histories.

use crate::histories::History;
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::{CommitComparisons, Concluded, Error, ErrorKind, MeasuredCommit, Places, stored};
use faultline_record::record::RunId;
use faultline_report::site::{PointSide, PointsPage, Searched, Site, StepDiffers, points_page, searches};
use faultline_stats::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult};
use std::collections::BTreeSet;
use std::sync::Arc;

const HINT: &str = "`a` and `b` are the full names of two commits of the history";

/// Maximum number of steps shown with saved details, newest first.
const MOST_STEPS: usize = 10;
/// Maximum number of searches shown, newest first.
const MOST_SEARCHES: usize = 10;

pub(super) async fn page(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[Parameter::text("a", "", ""), Parameter::text("b", "", "")])?;
    let history = state.histories.now().await?.history(&id)?;
    let positions = [position(&history, &query, "a")?, position(&history, &query, "b")?];
    of_points([Arc::clone(&history), history], positions, &state).await
}

/// The page that compares a commit of a history with one of the same or another history. Fails if
/// the commits are the same, or if the database cannot be read.
pub(super) async fn of_points(
    histories: [Arc<History>; 2],
    positions: [u32; 2],
    state: &State,
) -> Result<Page, PageProblem> {
    if histories[0].id == histories[1].id && positions[0] == positions[1] {
        return Err(Problem::bad_request("`a` and `b` are the same commit", "name two commits of the history").into());
    }
    let may_ask = state.may_mark;
    let read = move |places: &_| {
        let comparisons = &mut CommitComparisons::open(places)?;
        let points = [(&*histories[0], positions[0]), (&*histories[1], positions[1])];
        shown(points, may_ask, &Site::served(), (comparisons, places))
    };
    Ok(Page(state.reader.read(read).await?))
}

/// The page that compares two commits at existing positions. Fails if the database cannot be read.
pub(crate) fn shown(
    points: [(&History, u32); 2],
    may_ask: bool,
    site: &Site,
    (comparisons, places): (&mut CommitComparisons, &Places),
) -> Result<String, Error> {
    let compared = match comparable(points) {
        Ok(commits) => match comparisons.compare(&commits) {
            // The page shows the reason, with everything else that is known.
            Err(error) if error.kind == ErrorKind::Unanswerable => {
                Err(Problem::of(error, &places.database_name()).problem)
            }
            compared => Ok(compared?),
        },
        Err(why) => Err(why),
    };
    let [(a, from), (b, to)] = points;
    let (searches, differences) = match a.id == b.id {
        true => {
            (searched(&searches_between(&a.series, [from, to]), places), differences(&a.series, [from, to], places)?)
        }
        false => (Vec::new(), Vec::new()),
    };
    let page = PointsPage {
        sides: points.map(|(history, position)| PointSide { id: &history.id, series: &history.series, position }),
        compared: compared.as_ref().map_err(Clone::clone),
        searches: &searches,
        differences: &differences,
        may_ask,
    };
    Ok(points_page(&page, site))
}

/// Both measured commits, or the reason why they cannot be compared.
fn comparable(points: [(&History, u32); 2]) -> Result<[MeasuredCommit; 2], String> {
    let [a, b] = points.map(|(history, position)| measured(&history.series.points[position as usize]));
    let [of_a, of_b] = points.map(|(history, _)| &history.series);
    if of_a.quantity != of_b.quantity {
        return Err("different measures were taken of them".to_owned());
    }
    // Times with different numbers of tasks are different quantities. Counts are per operation, or
    // of all tasks.
    if !of_a.quantity.is_counted() && of_a.tasks != of_b.tasks {
        return Err(format!(
            "times with {} and with {} tasks are different quantities and are not tested against each other; both are above",
            of_a.tasks, of_b.tasks
        ));
    }
    if of_a.workload != of_b.workload {
        return Err("they are of different workloads".to_owned());
    }
    // Machines may keep a repository in different directories.
    let is_one_source = of_a.subject == of_b.subject || of_a.repository == of_b.repository;
    if of_a.command != of_b.command || !is_one_source {
        return Err("they are of different programs".to_owned());
    }
    Ok([a?, b?])
}

/// The steps between two commits.
fn steps_between(series: &HistorySeries, [a, b]: [u32; 2]) -> impl Iterator<Item = &HistoryStep> {
    series.steps.steps.iter().filter(move |step| step.by > a.min(b) && step.by <= a.max(b))
}

/// Saved details of the newest steps between two commits. Fails if the database cannot be read.
fn differences(series: &HistorySeries, between: [u32; 2], places: &Places) -> Result<Vec<StepDiffers>, Error> {
    let mut found = Vec::new();
    let steps: Vec<&HistoryStep> = steps_between(series, between).collect();
    for step in steps.into_iter().rev().take(MOST_STEPS) {
        let Some(run) = series.points.get(step.by as usize).and_then(|point| point.run) else { continue };
        let saved = stored::explained(run, places)?;
        if saved.is_empty() {
            continue;
        }
        let head = stored::head(run, places)?;
        let Some(line) = head.settings.measured_line().map(|measured| &measured.line) else { continue };
        let is_at = |position: u32, place: u32| {
            let (known, commit) = (line.commits.get(place as usize), series.commit(position));
            known.zip(commit).is_some_and(|(known, commit)| known.id == commit.id)
        };
        let of_step = saved.into_iter().find(|one| is_at(step.after, one.before) && is_at(step.by, one.after));
        found.extend(of_step.map(|found| StepDiffers { by: step.by, line: line.clone(), found }));
    }
    Ok(found)
}

/// The searches of the steps between two commits.
fn searches_between(series: &HistorySeries, between: [u32; 2]) -> BTreeSet<RunId> {
    steps_between(series, between).flat_map(searches).collect()
}

/// Results of searches, as far as they can be read.
fn searched(runs: &BTreeSet<RunId>, places: &Places) -> Vec<Searched> {
    let found = |run: &RunId| {
        let conclusion = stored::conclusion(Some(*run), places).ok()?;
        let Concluded::Bisect(found) = conclusion.what else { return None };
        Some(Searched { head: conclusion.head, found: *found })
    };
    runs.iter().rev().take(MOST_SEARCHES).filter_map(found).collect()
}

/// The position of the commit that a parameter names. Fails if the history does not contain it.
fn position(history: &History, query: &Query, name: &str) -> Result<u32, Problem> {
    let missing = || Problem::bad_request(format!("`{name}` is missing"), HINT);
    position_of(history, query.text(name).ok_or_else(missing)?)
}

/// The position of a commit. Fails if the history does not contain it.
pub(super) fn position_of(history: &History, commit: &str) -> Result<u32, Problem> {
    let found = (0..).zip(&history.series.points).find(|(_, point)| point.commit.id == commit);
    found.map(|(position, _)| position).ok_or_else(|| Problem::not_found("the history has no such commit", HINT))
}

/// The measured commit, or the reason why it has no value.
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
