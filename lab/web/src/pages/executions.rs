//! The executions of a run, and the raw samples of one.

use super::{Page, PageProblem};
use crate::api::number;
use crate::query::Query;
use crate::samples::{ask_samples, phase};
use crate::state::State;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::stored_executions::StoredExecutions;
use faultline_model::execution::SampleRange;
use faultline_model::journal::AttemptId;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use faultline_report::site::{Further, SamplesPage, Site, execution_page, executions_page};

/// Executions in a page.
const MOST_EXECUTIONS: u32 = 200;
/// Samples in a page.
const MOST_SAMPLES: u32 = 500;

pub(super) async fn list(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["after", "subject"])?;
    let run = RunId(number(&run, "run")?);
    let after = query.number("after", 0, i64::MAX)?.map(AttemptId);
    let subject = query.number("subject", 0, u32::MAX)?;
    let of = subject.map(SubjectIndex);
    let read = move |places: &_| StoredExecutions::open(places)?.lines(run, after, of, MOST_EXECUTIONS + 1);
    let mut executions = state.reader.read(read).await?;
    let has_further = executions.len() > MOST_EXECUTIONS as usize;
    executions.truncate(MOST_EXECUTIONS as usize);
    let of_subject = subject.map_or_else(String::new, |subject| format!("&subject={subject}"));
    let further = executions.last().filter(|_| has_further).map(|last| format!("?after={}{of_subject}", last.id.0));
    Ok(Page(executions_page(run, &executions, further.map(Further::At), &Site::served())))
}

pub(super) async fn one(
    Shared(state): Shared<State>,
    Path((run, execution)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["phase", "from"])?;
    let (run, execution) = (RunId(number(&run, "run")?), number(&execution, "execution")?);
    let range = SampleRange {
        phase: phase(&query)?,
        from: query.number("from", 0, u32::MAX)?.unwrap_or(0),
        most: MOST_SAMPLES,
    };
    let samples = ask_samples(&state, run, AttemptId(execution), range).await?;
    let read = move |places: &_| {
        let executions = StoredExecutions::open(places)?;
        let line = executions.line(run, AttemptId(execution))?;
        let console = executions.console(run, &line)?;
        Ok((line, console))
    };
    let (line, console) = state.reader.read(read).await?;
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
