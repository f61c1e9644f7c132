//! Raw samples of an execution, as a page and the API ask for them.

use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use faultline_experiment::stored_executions::StoredExecutions;
use faultline_model::execution::{Phase, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::record::RunId;

/// A range of the samples of an execution. Fails if there is no such execution.
pub(crate) async fn ask_samples(
    state: &State,
    run: RunId,
    execution: AttemptId,
    range: SampleRange,
) -> Result<Samples, Problem> {
    state.reader.read(move |places| StoredExecutions::open(places)?.samples(run, execution, &range)).await
}

/// The parameter `phase`. Fails if it is no phase.
pub(crate) fn phase(query: &Query) -> Result<Phase, Problem> {
    let Some(word) = query.text("phase") else { return Ok(Phase::Window) };
    let found = Phase::ALL.into_iter().find(|phase| phase.word() == word);
    found.ok_or_else(|| Problem::bad_request("`phase` is neither `warmup` nor `window`", "without it, it is `window`"))
}
