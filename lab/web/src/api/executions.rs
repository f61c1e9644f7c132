//! Executions of a run; the raw samples of one, and its console.

use super::number;
use crate::problem::Problem;
use crate::query::Query;
use crate::samples::{ask_samples, phase};
use crate::state::State;
use axum::Json;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::stored_executions::StoredExecutions;
use faultline_model::execution::{ExecutionLine, Phase, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use serde::Serialize;

/// Maximum number of executions in an answer, which is also the usual one.
const MOST_EXECUTIONS: u32 = 500;
/// Intervals in an answer, if nothing else is asked for.
const USUAL_SAMPLES: u32 = 1000;
/// Maximum number of intervals in an answer. Each has a number for each task.
const MOST_SAMPLES: u32 = 5000;

/// Some executions of a run, in the order in which they began.
#[derive(Serialize)]
pub(super) struct Executions {
    format: &'static str,
    run: RunId,
    executions: Vec<ExecutionLine>,
    /// `after` of the next request; `None` if there are no further executions.
    next: Option<i64>,
}

pub(super) async fn list(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Executions>, Problem> {
    let query = Query::parse(query.as_deref(), &["after", "subject", "limit"])?;
    let run = RunId(number(&run, "run")?);
    let after = query.number("after", 0, i64::MAX)?.map(AttemptId);
    let subject = query.number("subject", 0, u32::MAX)?.map(SubjectIndex);
    let limit = query.number("limit", 1, MOST_EXECUTIONS)?.unwrap_or(MOST_EXECUTIONS);
    // One more than asked for, which says whether there are further ones.
    let read = move |places: &_| StoredExecutions::open(places)?.lines(run, after, subject, limit + 1);
    let mut executions = state.reader.read(read).await?;
    let has_further = executions.len() > limit as usize;
    executions.truncate(limit as usize);
    let next = executions.last().filter(|_| has_further).map(|last| last.id.0);
    Ok(Json(Executions { format: "faultline-executions/1", run, executions, next }))
}

/// What the console of the machine printed last that was booted for an execution.
#[derive(Serialize)]
pub(super) struct Console {
    format: &'static str,
    run: RunId,
    execution: i64,
    /// `None` if no machine was booted for it, or if it printed nothing.
    console: Option<String>,
}

pub(super) async fn console(
    Shared(state): Shared<State>,
    Path((run, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Console>, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let (run, execution) = (RunId(number(&run, "run")?), number(&execution, "execution")?);
    let read = move |places: &_| {
        let executions = StoredExecutions::open(places)?;
        executions.console(run, &executions.line(run, AttemptId(execution))?)
    };
    Ok(Json(Console { format: "faultline-console/1", run, execution, console: state.reader.read(read).await? }))
}

/// Samples of one phase of an execution.
#[derive(Serialize)]
pub(super) struct OfExecution {
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
    let query = Query::parse(query.as_deref(), &["phase", "from", "limit"])?;
    let run = RunId(number(&run, "run")?);
    let execution = number(&execution, "execution")?;
    let range = SampleRange {
        phase: phase(&query)?,
        from: query.number("from", 0, u32::MAX)?.unwrap_or(0),
        most: query.number("limit", 1, MOST_SAMPLES)?.unwrap_or(USUAL_SAMPLES),
    };
    let samples = ask_samples(&state, run, AttemptId(execution), range).await?;
    Ok(Json(OfExecution { format: "faultline-samples/1", run, execution, phase: range.phase, samples }))
}
