//! Comparisons of two runs, or of two commits of any histories.

use super::commits::{of_points, position_of};
use super::json_text;
use crate::histories::{History, Snapshot};
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use faultline_experiment::{compare_stored_runs, lens};
use faultline_record::commit::short_name;
use faultline_record::plan::KindOfRun;
use faultline_record::record::RunId;
use faultline_report::site::{
    Site, comparison_of_site, history_name, lens_comparison_page, pinned, problem_page_with_ways,
};
use faultline_report::{Format, Style};
use faultline_stats::comparison::Comparison;
use faultline_stats::history::HistoryPoint;
use faultline_stats::lens::comparison::LensComparison;
use std::collections::BTreeSet;
use std::sync::Arc;

const HINT: &str = "`a` and `b` are the numbers of two runs, or two commits of histories, each as HISTORY@COMMIT";

const A: Parameter = Parameter::integer("a", 1, i64::MAX, "Number of a run").required();
const B: Parameter = Parameter::integer("b", 1, i64::MAX, "Number of another run").required();

/// Compares two runs.
pub(super) const COMPARE: Operation = Operation::get(
    "/compare",
    "compare",
    "The comparison of two runs, as `faultline compare A B --format json` prints it; of two runs under the lens, as \
     `faultline lens compare A B --format json` does",
)
.takes(&[A, B])
.answers(&[schema_of::<Comparison>, schema_of::<LensComparison>])
.refuses(&[
    (StatusCode::NOT_FOUND, "A run does not exist"),
    (StatusCode::UNPROCESSABLE_ENTITY, "The runs cannot be compared"),
]);

pub(super) async fn compare(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = COMPARE.query(query.as_deref())?;
    let (format, style) = (Format::Json, &Style::PLAIN);
    Ok(json_text(match compared(&state, &query).await? {
        Compared::Measured(compared) => faultline_report::comparison(&compared, format, style),
        Compared::Counted(compared) => faultline_report::lens_compare_table(&compared, format, style),
    }))
}

/// The comparison of two runs.
enum Compared {
    /// Of their values.
    Measured(Box<Comparison>),
    /// Of their counts under the lens.
    Counted(Box<LensComparison>),
}

/// The comparison of the runs numbered `a` and `b`. Names are not accepted, because the command
/// takes others as files. Fails if a number is missing, a run does not exist, or the runs cannot be
/// compared.
async fn compared(state: &State, query: &Query) -> Result<Compared, Problem> {
    let run = |name: &str| {
        let run = query.number(name)?.map(RunId);
        run.ok_or_else(|| Problem::bad_request(format!("`{name}` is missing"), HINT))
    };
    let runs = [run("a")?, run("b")?];
    let known = state.histories.now().await?;
    let line = |run: RunId| {
        let found = known.runs.iter().find(|line| line.id == run);
        found.ok_or_else(|| Problem::not_found(format!("there is no run {run}"), "`/api/v1/runs` lists all"))
    };
    let kinds = [line(runs[0])?.kind, line(runs[1])?.kind];
    let are_counted = kinds == [KindOfRun::Lens; 2];
    let read = move |places: &_| match are_counted {
        true => Ok(Compared::Counted(Box::new(lens::compare_runs(runs, places)?))),
        false => Ok(Compared::Measured(Box::new(compare_stored_runs(runs, places)?))),
    };
    // Totals of executions, which decide a comparison of values, need little memory.
    let compared = match are_counted {
        true => state.reader.read_whole_runs(read).await,
        false => state.reader.read(read).await,
    };
    compared.map_err(Problem::unprocessable)
}

pub(super) async fn page(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, PageProblem> {
    let named = Query::parse(query.as_deref(), &[Parameter::text("a", "", ""), Parameter::text("b", "", "")])?;
    let now = state.histories.now().await?;
    match [point(&named, "a", &now)?, point(&named, "b", &now)?] {
        [Some((a, from)), Some((b, to))] => return Ok(of_points([a, b], [from, to], &state).await?.into_response()),
        [None, None] => {}
        _ => return Err(Problem::bad_request("one of `a` and `b` is a commit, the other is not", HINT).into()),
    }
    let query = COMPARE.query(query.as_deref())?;
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

/// The history and position of the commit that a parameter names as HISTORY@COMMIT; `None` if it
/// names none. Fails if the history or commit does not exist.
fn point(query: &Query, name: &str, now: &Snapshot) -> Result<Option<(Arc<History>, u32)>, Problem> {
    let Some((id, commit)) = query.text(name).and_then(|text| text.split_once('@')) else { return Ok(None) };
    let history = now.history(id)?;
    let position = position_of(&history, commit)?;
    Ok(Some((history, position)))
}

/// A page with links for two runs of which at least one measured many commits, which are compared
/// one by one. `None` for other runs, and if a run does not exist.
fn of_commits(query: &Query, now: &Snapshot, site: &Site) -> Option<String> {
    let line = |name| {
        let run = query.number(name).ok().flatten().map(RunId)?;
        now.runs.iter().find(|line| line.id == run)
    };
    let runs = [line("a")?, line("b")?];
    if !runs.iter().any(|run| run.kind.measures_commits()) {
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
    let problem = "a run that measured many commits cannot be compared as a whole";
    let hint = "in a history's plot, pin a commit, choose it as side A, and pin another commit";
    Some(problem_page_with_ways(StatusCode::UNPROCESSABLE_ENTITY.as_u16(), problem, Some(hint), &ways, site))
}

/// The newest commit that a run measured, with its history.
fn newest(run: RunId, now: &Snapshot) -> Option<(&Arc<History>, &HistoryPoint)> {
    now.histories.iter().find_map(|history| {
        let mut points = history.series.points.iter().rev();
        let point = points.find(|point| point.run == Some(run) && point.value().is_some())?;
        Some((history, point))
    })
}
