//! Two stored runs, compared. They are named by their numbers alone: other names that the command takes may be those of files.

use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use faultline_experiment::compare_stored_runs;
use faultline_model::comparison::Comparison;
use faultline_model::record::RunId;

/// The comparison of the runs that `a` and `b` name. Fails if one is missing, if there is no such run, or if they cannot be compared.
pub(crate) async fn compared(state: &State, query: &Query) -> Result<Comparison, Problem> {
    let run = |name: &str| {
        let run = query.number(name, 1, i64::MAX)?.map(RunId);
        run.ok_or_else(|| {
            Problem::bad_request(format!("`{name}` is missing"), "`a` and `b` are the numbers of two runs")
        })
    };
    let runs = [run("a")?, run("b")?];
    let known = state.histories.now().await?;
    if let Some(run) = runs.into_iter().find(|run| !known.runs.iter().any(|line| line.id == *run)) {
        return Err(Problem::not_found(format!("there is no run {run}"), "`/api/v1/runs` lists all"));
    }
    let read = move |places: &_| compare_stored_runs(runs, places);
    state.reader.read(read).await.map_err(Problem::unprocessable)
}
