//! What lies between the commits of a history's steps, from its repository and the builds that are kept; and what the lens counted otherwise.

use super::linked;
use super::moved::moved;
use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::over::Over;
use crate::source;
use faultline_experiment::stored::StoredHistory;
use faultline_experiment::{Error, Lab};
use faultline_model::history::{Between, HistoryPoint, HistorySeries};
use std::path::Path;

/// Adds to each step what the lens counted otherwise, and what lies between its commits. Nothing lies between kernels that are there already. Fails if the repository, or a commit, is not there any more; then the steps before it have what was
/// found.
pub fn explain(series: &mut HistorySeries, subject: &HistorySubject, lab: &Lab<'_>) -> Result<(), Error> {
    series.moved = moved(series, lab)?;
    let Some(workshop) = source::workshop_of(subject, lab)? else { return Ok(()) };
    let mut runs = Vec::new();
    for over in Over::all(subject).filter(|over| over.measure.tasks() == series.tasks) {
        runs.extend(over.stored(lab.places)?);
    }
    for step in &mut series.steps.steps {
        let [old, new] = [&series.points[step.after as usize], &series.points[step.by as usize]];
        let commits = workshop.repository.commits_between(&old.commit.id, &new.commit.id, lab)?;
        step.between = Some(Between {
            commits: commits.commits,
            count: commits.count,
            authors: commits.authors,
            files: workshop.files(&old.commit, &new.commit, lab)?,
            linked: linked(build(old, &runs), build(new, &runs)),
        });
    }
    Ok(())
}

/// Where the build that was measured is.
pub(super) fn build<'a>(point: &HistoryPoint, runs: &'a [StoredHistory]) -> Option<&'a Path> {
    runs.iter().find(|run| point.run == Some(run.head.id))?.build_of(&point.commit.id).map(Path::new)
}
