//! Names the files that the commits of a history changed. They are saved with the line of commits, so pages can show them without the repository.

use crate::commits::{Commits, Walked};
use faultline_experiment::stored::StoredHistory;
use faultline_experiment::{Error, Lab};
use faultline_model::commit::{CommitInfo, FilesNamed};
use faultline_model::history::PlannedCommit;
use std::collections::BTreeMap;

/// The files of the commits that earlier runs have named, by commit.
pub(crate) fn named_before(runs: &[StoredHistory]) -> BTreeMap<String, FilesNamed> {
    let lines =
        runs.iter().rev().filter_map(|run| run.head.settings.history()).flat_map(|history| &history.line.commits);
    lines.filter_map(|commit| Some((commit.id.clone(), commit.files.clone()?))).collect()
}

/// Names the files of the commits that are to be measured, and takes those of others over from earlier runs. A commit without a parent among the walked ones has
/// none. Fails on a stop, or if the repository cannot be read.
pub(crate) fn name_files(
    planned: &mut [PlannedCommit],
    walked: &Walked,
    before: &mut BTreeMap<String, FilesNamed>,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<(), Error> {
    let by_id: BTreeMap<&str, &CommitInfo> = walked.commits.iter().map(|commit| (commit.id.as_str(), commit)).collect();
    for one in planned {
        let commit = &one.commit;
        let known = before.remove(&commit.id);
        let parent = commit.parents.first().and_then(|parent| by_id.get(parent.as_str()));
        // Releases that are no commits have no tree.
        let parent = parent.filter(|_| one.is_wanted && known.is_none() && !commit.tree.is_empty());
        let now = parent.map(|parent| commits.files(parent, commit, lab)).transpose()?;
        one.commit.files = known.or(now.as_ref().map(FilesNamed::of));
    }
    Ok(())
}
