//! What is known of the steps that a search found, besides their values: read from the repository and from the builds on both sides of each step.

pub mod history;
mod moved;
pub mod steps;

use crate::commits::Commits;
use crate::linked_files::linked_files;
use faultline_experiment::{Error, Lab};
use faultline_model::drill::DrillStep;
use faultline_model::explained::{CommitChanges, LinkedChanges, StepExplained};
use faultline_model::plan::LineSearch;
use faultline_model::record::RunRecord;
use faultline_model::subject::BuildResult;
use faultline_stats::drill::conclude_record;
use faultline_stats::linked_changes;
use std::path::Path;

/// Explains the steps that were found. What cannot be read is left out. Fails on a stop only.
pub(crate) fn explained(
    record: &RunRecord,
    search: &LineSearch,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<Vec<StepExplained>, Error> {
    let found = conclude_record(record).map_or_else(Vec::new, |drill| drill.steps);
    found.iter().map(|step| explain(step, record, search, commits, lab)).collect()
}

fn explain(
    step: &DrillStep,
    record: &RunRecord,
    search: &LineSearch,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<StepExplained, Error> {
    let kept = step.candidates.len().saturating_sub(StepExplained::MOST_COMMITS);
    let changes = |&position: &u32| changes(position, search, commits, lab);
    Ok(StepExplained {
        before: step.before,
        after: step.after,
        commits: step.candidates[kept..].iter().map(changes).collect::<Result<_, Error>>()?,
        linked: linked(directory(step.before, record, search), directory(step.after, record, search)),
    })
}

/// What a commit changed, against the one before it on the line.
fn changes(position: u32, search: &LineSearch, commits: &dyn Commits, lab: &Lab<'_>) -> Result<CommitChanges, Error> {
    let line = &search.line.commits;
    let (from, to) = (&line[position as usize - 1], &line[position as usize]);
    let files = match commits.files(from, to, lab) {
        Err(error) if error == Error::stopped() => return Err(error),
        files => files.ok(),
    };
    Ok(CommitChanges { commit: to.id.clone(), files })
}

/// How the linked files of two builds differ.
fn linked(before: Option<&Path>, after: Option<&Path>) -> LinkedChanges {
    let files = |directory: Option<&Path>| linked_files(directory?).ok();
    match (files(before), files(after)) {
        (Some(before), Some(after)) => linked_changes(&before, &after),
        _ => LinkedChanges::Gone,
    }
}

/// Where the build of a commit is: of this run, or of the earlier one that measured it.
fn directory<'a>(position: u32, record: &'a RunRecord, search: &'a LineSearch) -> Option<&'a Path> {
    let id = &search.line.commits.get(position as usize)?.id;
    let built = record.subjects.iter().filter(|subject| subject.build == Some(BuildResult::Built));
    let mut of_commit = built.filter(|subject| subject.commit.as_ref().is_some_and(|commit| commit.id == *id));
    let own = of_commit.next().and_then(|subject| subject.setup.directory.as_deref());
    own.or_else(|| search.known.iter().find(|known| known.position == position)?.build()).map(Path::new)
}
