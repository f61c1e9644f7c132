//! Two stored runs, compared. They are named by their numbers alone: other names that the command takes may be those of files.

use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use faultline_experiment::{compare_stored_runs, lens};
use faultline_model::comparison::Comparison;
use faultline_model::lens::comparison::LensComparison;
use faultline_model::plan::KindOfRun;
use faultline_model::record::RunId;

/// What two runs are compared by.
pub(crate) enum Compared {
    /// Their values.
    Measured(Box<Comparison>),
    /// What the lens counted in both.
    Counted(Box<LensComparison>),
}

/// The comparison of the runs that `a` and `b` name. Fails if one is missing, if there is no such run, or if they cannot be compared.
pub(crate) async fn compared(state: &State, query: &Query) -> Result<Compared, Problem> {
    let run = |name: &str| {
        let run = query.number(name, 1, i64::MAX)?.map(RunId);
        run.ok_or_else(|| {
            Problem::bad_request(format!("`{name}` is missing"), "`a` and `b` are the numbers of two runs")
        })
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
    state.reader.read(read).await.map_err(Problem::unprocessable)
}
