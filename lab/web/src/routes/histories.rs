//! Histories: the list, one with all its commits, and ranges of one to draw.

use crate::histories::{History, Snapshot};
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::{State, Threshold, steps_found};
use crate::timeline::{
    Asked, FROM, TO, WIDTH, WITH, asked_for, beside as beside_of, commits_of, timeline as timeline_of,
};
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_report::site::{Site, TimelineFiles, TimelinePage, timeline_page};
use faultline_stats::history::{HistorySeries, HistoryStep, PointResult};
use faultline_stats::timeline::{Beside, StepsFound, Timeline};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum and default number of histories in an answer.
const MOST_HISTORIES: usize = 200;
/// Default number of commits in an answer.
const USUAL_COMMITS: usize = 1000;
/// Maximum number of commits in an answer.
const MOST_COMMITS: i64 = 5000;

const LIST_FORMAT: &str = "faultline-histories/1";

/// Lists histories.
pub(super) const LIST: Operation = Operation::get("/histories", "histories", "Histories with their last steps")
    .takes(&[
        Parameter::from("Number of histories to skip"),
        Parameter::limit(MOST_HISTORIES as i64, "Maximum number of histories; by default 200"),
    ])
    .answers(&[schema_of::<Histories>]);

/// Histories, by subject and number of tasks.
#[derive(Serialize, JsonSchema)]
pub(super) struct Histories {
    #[schemars(extend("const" = LIST_FORMAT))]
    format: &'static str,
    histories: Vec<Line>,
    /// `from` of the next request; null after the last histories.
    next: Option<usize>,
}

/// A history without its commits.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistoryLine")]
struct Line {
    id: String,
    subject: String,
    repository: String,
    /// The quantity, as `--by` names it: `time`, `cpu-time`, `transfers` and so on.
    measure: &'static str,
    unit: String,
    tasks: u32,
    /// The host on which time was measured; absent for counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Number of commits.
    commits: usize,
    /// Number of measured commits.
    measured: usize,
    /// Number of steps.
    steps: usize,
    last_step: Option<HistoryStep>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Json<Histories>, Problem> {
    let rows = LIST.query(query.as_deref())?.rows(MOST_HISTORIES)?;
    let now = state.histories.now().await?;
    let (range, next) = rows.among(now.histories.len());
    let histories = now.histories[range].iter().map(|history| line(history)).collect();
    Ok(Json(Histories { format: LIST_FORMAT, histories, next }))
}

fn line(history: &History) -> Line {
    let series = &history.series;
    let is_measured = |result: &PointResult| matches!(result, PointResult::Measured { .. });
    Line {
        id: history.id.clone(),
        subject: series.subject.clone(),
        repository: series.repository.clone(),
        measure: series.quantity.word(),
        unit: series.unit.clone(),
        tasks: series.tasks,
        host: series.host.clone(),
        commits: series.points.len(),
        measured: series.points.iter().filter(|point| is_measured(&point.result)).count(),
        steps: series.steps.steps.len(),
        last_step: series.steps.steps.last().cloned(),
    }
}

/// Shows a history.
pub(super) const ONE: Operation = Operation::get(
    "/histories/{history}",
    "history",
    "A history with its steps and a range of its commits, as `faultline history show --format json` prints it",
)
.takes(&[
    Parameter::from("Position of the first commit; the oldest is 0"),
    Parameter::limit(MOST_COMMITS, "Maximum number of commits; by default 1000"),
])
.answers(&[schema_of::<OfHistory>]);

/// Commits of a history with the steps at them.
#[derive(Serialize, JsonSchema)]
pub(super) struct OfHistory {
    #[serde(flatten)]
    series: HistorySeries,
    /// Number of all its commits.
    commits: usize,
    /// Position of the first commit in this answer.
    from: usize,
    /// `from` of the next request; null after the last commits.
    next: Option<usize>,
}

pub(super) async fn one(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<OfHistory>, Problem> {
    let rows = ONE.query(query.as_deref())?.rows(USUAL_COMMITS)?;
    let now = state.histories.now().await?;
    let whole = &now.history(&id)?.series;
    let (range, next) = rows.among(whole.points.len());
    let series = commits_of(whole, &range);
    Ok(Json(OfHistory { series, commits: whole.points.len(), from: range.start, next }))
}

/// Shows a range of a history.
pub(super) const TIMELINE: Operation = Operation::get(
    "/histories/{history}/timeline",
    "timeline",
    "A range of a history: up to 5,000 commits, otherwise buckets with minimum, median and maximum",
)
.takes(&[FROM, TO, WIDTH])
.answers(&[schema_of::<Timeline>]);

pub(super) async fn timeline(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Timeline>, Problem> {
    let asked = Asked::parse(&TIMELINE.query(query.as_deref())?)?;
    let now = state.histories.now().await?;
    Ok(Json(timeline_of(now.history(&id)?.as_ref(), &asked, &now)))
}

/// Shows steps by another smallest change.
pub(super) const STEPS: Operation = Operation::get(
    "/histories/{history}/steps",
    "steps",
    "The steps of a history by a smallest change, without states, which belong to the usual steps",
)
.takes(&[Parameter::decimal(
    "min_change",
    0.0,
    100.0,
    "Smallest change in percent of the value before; by default the usual one",
)])
.answers(&[schema_of::<StepsFound>]);

pub(super) async fn steps(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<StepsFound>, Problem> {
    let asked = STEPS.query(query.as_deref())?.decimal("min_change")?;
    let history = state.histories.now().await?.history(&id)?;
    let usual = history.series.steps.least_change;
    let threshold = Threshold::of_percent(asked.unwrap_or(usual * 100.0));
    let found = state.thresholds.steps(&history, threshold, &state.reader).await?;
    Ok(Json(steps_found(&history, &found)))
}

/// Shows other histories beside one.
pub(super) const BESIDE: Operation = Operation::get(
    "/histories/{history}/beside",
    "beside",
    "Other histories in a range of one, placed on its commits: up to 1,000 commits of each, otherwise buckets",
)
.takes(&[WITH, FROM, TO, WIDTH])
.answers(&[schema_of::<Beside>]);

pub(super) async fn beside(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Beside>, Problem> {
    let query = BESIDE.query(query.as_deref())?;
    let asked = Asked::parse(&query)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    Ok(Json(beside_of(&history, &asked_for(&query, &now)?, &asked)))
}

pub(super) async fn page(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[FROM, TO])?;
    let asked = Asked::parse(&query)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    let drawn = timeline_of(&history, &asked, &now);
    Ok(Page(shown(&history, &drawn, &now, state.may_mark, None, &Site::served())))
}

/// The page of a history. `drawn` is the drawn range; `files` are those beside an exported page.
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
