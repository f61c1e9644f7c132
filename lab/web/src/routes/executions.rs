//! Executions of a run: the list, raw samples and console.

use super::number;
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::StatusCode;
use faultline_experiment::stored::StoredExecutions;
use faultline_record::execution::{ExecutionLine, Phase, SampleRange, Samples};
use faultline_record::journal::AttemptId;
use faultline_record::record::RunId;
use faultline_record::subject::SubjectIndex;
use faultline_report::site::{Further, SamplesPage, Site, execution_page, executions_page};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum and default number of executions in an answer.
const MOST_EXECUTIONS: u32 = 500;
/// Executions on a page.
const EXECUTIONS_ON_PAGE: u32 = 200;
/// Default number of intervals in an answer.
const USUAL_SAMPLES: u32 = 1000;
/// Maximum number of intervals in an answer. Each has a number per task.
const MOST_SAMPLES: i64 = 5000;
/// Intervals on a page.
const SAMPLES_ON_PAGE: u32 = 500;

const AFTER: Parameter = Parameter::integer("after", 0, i64::MAX, "Only executions with a greater number");
const SUBJECT: Parameter =
    Parameter::integer("subject", 0, u32::MAX as i64, "Only executions of this subject of the run; 0 is the first");
const PHASE: Parameter = Parameter::word("phase", &["warmup", "window"], "Phase of the execution; by default `window`");
const FROM: Parameter = Parameter::from("Number of the first interval");
const REFUSALS: &[(StatusCode, &str)] = &[(StatusCode::UNPROCESSABLE_ENTITY, "The saved data cannot be read")];

const LIST_FORMAT: &str = "faultline-executions/1";
const SAMPLES_FORMAT: &str = "faultline-samples/1";
const CONSOLE_FORMAT: &str = "faultline-console/1";

/// Lists executions.
pub(super) const LIST: Operation =
    Operation::get("/runs/{run}/executions", "executions", "Executions of a run, in the order of their start")
        .takes(&[
            AFTER,
            SUBJECT,
            Parameter::limit(MOST_EXECUTIONS as i64, "Maximum number of executions; by default 500"),
        ])
        .answers(&[schema_of::<Executions>])
        .refuses(REFUSALS);

/// Executions of a run, in the order of their start.
#[derive(Serialize, JsonSchema)]
pub(super) struct Executions {
    #[schemars(extend("const" = LIST_FORMAT))]
    format: &'static str,
    run: RunId,
    executions: Vec<ExecutionLine>,
    /// `after` of the next request; null after the last executions.
    next: Option<i64>,
}

pub(super) async fn list(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Executions>, Problem> {
    let query = LIST.query(query.as_deref())?;
    let run = RunId(number(&run, "run")?);
    let limit = query.number("limit")?.unwrap_or(MOST_EXECUTIONS);
    let (executions, next) = lines(&state, run, &query, limit).await?;
    Ok(Json(Executions { format: LIST_FORMAT, run, executions, next }))
}

pub(super) async fn list_page(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[AFTER, SUBJECT])?;
    let run = RunId(number(&run, "run")?);
    let (executions, next) = lines(&state, run, &query, EXECUTIONS_ON_PAGE).await?;
    let of_subject = query.text("subject").map_or_else(String::new, |subject| format!("&subject={subject}"));
    let further = next.map(|last| Further::At(format!("?after={last}{of_subject}")));
    Ok(Page(executions_page(run, &executions, further, &Site::served())))
}

/// At most `limit` executions, and the number of the last one if there are more.
async fn lines(
    state: &State,
    run: RunId,
    query: &Query,
    limit: u32,
) -> Result<(Vec<ExecutionLine>, Option<i64>), Problem> {
    let after = query.number("after")?.map(AttemptId);
    let subject = query.number("subject")?.map(SubjectIndex);
    // One more than requested shows if there are more.
    let read = move |places: &_| StoredExecutions::open(places)?.lines(run, after, subject, limit + 1);
    let mut executions = state.reader.read(read).await?;
    let is_more = executions.len() > limit as usize;
    executions.truncate(limit as usize);
    let next = executions.last().filter(|_| is_more).map(|last| last.id.0);
    Ok((executions, next))
}

/// Shows the console of an execution.
pub(super) const CONSOLE: Operation = Operation::get(
    "/runs/{run}/executions/{execution}/console",
    "console",
    "The last console output of the machine booted for an execution",
)
.answers(&[schema_of::<Console>])
.refuses(REFUSALS);

/// Console of an execution.
#[derive(Serialize, JsonSchema)]
pub(super) struct Console {
    #[schemars(extend("const" = CONSOLE_FORMAT))]
    format: &'static str,
    run: RunId,
    execution: i64,
    /// Last output; null if no machine was booted, or it printed nothing.
    console: Option<String>,
}

pub(super) async fn console(
    Shared(state): Shared<State>,
    Path((run, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Console>, Problem> {
    CONSOLE.query(query.as_deref())?;
    let (run, execution) = (RunId(number(&run, "run")?), number(&execution, "execution")?);
    let read = move |places: &_| {
        let executions = StoredExecutions::open(places)?;
        executions.console(run, &executions.line(run, AttemptId(execution))?)
    };
    Ok(Json(Console { format: CONSOLE_FORMAT, run, execution, console: state.reader.read(read).await? }))
}

/// Shows raw samples of an execution.
pub(super) const SAMPLES: Operation = Operation::get(
    "/runs/{run}/executions/{execution}/samples",
    "samples",
    "Raw samples of an execution, and its figures that are not rates",
)
.takes(&[PHASE, FROM, Parameter::limit(MOST_SAMPLES, "Maximum number of intervals; by default 1000")])
.answers(&[schema_of::<OfExecution>])
.refuses(REFUSALS);

/// Samples of a phase of an execution.
#[derive(Serialize, JsonSchema)]
pub(super) struct OfExecution {
    #[schemars(extend("const" = SAMPLES_FORMAT))]
    format: &'static str,
    run: RunId,
    execution: i64,
    phase: Phase,
    #[serde(flatten)]
    samples: Samples,
}

pub(super) async fn samples(
    Shared(state): Shared<State>,
    Path((run, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<OfExecution>, Problem> {
    let query = SAMPLES.query(query.as_deref())?;
    let (run, execution) = (RunId(number(&run, "run")?), number(&execution, "execution")?);
    let range = range(&query, query.number("limit")?.unwrap_or(USUAL_SAMPLES))?;
    let read = move |places: &_| StoredExecutions::open(places)?.samples(run, AttemptId(execution), &range);
    let samples = state.reader.read(read).await?;
    Ok(Json(OfExecution { format: SAMPLES_FORMAT, run, execution, phase: range.phase, samples }))
}

pub(super) async fn page(
    Shared(state): Shared<State>,
    Path((run, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[PHASE, FROM])?;
    let (run, execution) = (RunId(number(&run, "run")?), number(&execution, "execution")?);
    let range = range(&query, SAMPLES_ON_PAGE)?;
    let read = move |places: &_| {
        let executions = StoredExecutions::open(places)?;
        let samples = executions.samples(run, AttemptId(execution), &range)?;
        let line = executions.line(run, AttemptId(execution))?;
        let console = executions.console(run, &line)?;
        Ok((samples, line, console))
    };
    let (samples, line, console) = state.reader.read(read).await?;
    let next = range.from.saturating_add(samples.intervals.len() as u32);
    let has_further = !samples.intervals.is_empty() && next < samples.total;
    let further = has_further.then(|| format!("?phase={}&from={next}", range.phase.word()));
    let page = SamplesPage {
        run,
        execution,
        phase: range.phase,
        outcome: line.outcome.as_ref(),
        console: console.as_deref(),
        samples: &samples,
        further,
    };
    Ok(Page(execution_page(&page, &Site::served())))
}

/// The requested range of samples.
fn range(query: &Query, most: u32) -> Result<SampleRange, Problem> {
    let word = query.word("phase")?;
    let phase = Phase::ALL.into_iter().find(|phase| Some(phase.word()) == word);
    Ok(SampleRange { phase: phase.unwrap_or(Phase::Window), from: query.number("from")?.unwrap_or(0), most })
}
