//! Names the files that the commits of a history changed. They are saved with the line of commits, so pages can show them without the repository.

use crate::commits::Walked;
use faultline_experiment::Error;
use faultline_experiment::stored::StoredHistory;
use faultline_model::commit::{CommitInfo, FilesNamed};
use faultline_model::explained::FilesChanged;
use faultline_model::history::PlannedCommit;
use std::collections::BTreeMap;

/// The files of the commits that earlier runs have named, by commit.
pub(crate) fn named_before(runs: &[StoredHistory]) -> BTreeMap<String, FilesNamed> {
    let lines =
        runs.iter().rev().filter_map(|run| run.head.settings.history()).flat_map(|history| &history.line.commits);
    lines.filter_map(|commit| Some((commit.id.clone(), commit.files.clone()?))).collect()
}

/// Names the files of the commits that are to be measured, and takes those of others over from earlier runs. A commit without a parent among the walked ones has
/// none. `files`: the files that differ between two commits. Fails if it does.
pub(crate) fn name_files(
    planned: &mut [PlannedCommit],
    walked: &Walked,
    before: &mut BTreeMap<String, FilesNamed>,
    files: &dyn Fn(&CommitInfo, &CommitInfo) -> Result<FilesChanged, Error>,
) -> Result<(), Error> {
    let by_id: BTreeMap<&str, &CommitInfo> = walked.commits.iter().map(|commit| (commit.id.as_str(), commit)).collect();
    for one in planned {
        let commit = &one.commit;
        let known = before.remove(&commit.id);
        let parent = commit.parents.first().and_then(|parent| by_id.get(parent.as_str()));
        // Releases that are no commits have no tree.
        let parent = parent.filter(|_| one.is_wanted && known.is_none() && !commit.tree.is_empty());
        let now = parent.map(|parent| files(parent, commit)).transpose()?;
        one.commit.files = known.or(now.as_ref().map(FilesNamed::of));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::explained::FileChange;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    fn commit(id: &str, tree: &str, parents: &[&str]) -> CommitInfo {
        CommitInfo {
            id: id.to_owned(),
            tree: tree.to_owned(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            ..CommitInfo::default()
        }
    }

    fn planned(commit: CommitInfo, is_wanted: bool) -> PlannedCommit {
        PlannedCommit { subject: String::new(), tasks: 1, commit, is_picked: is_wanted, is_wanted, is_measured: None }
    }

    fn named(file: &str) -> FilesNamed {
        FilesNamed { number: 1, most: vec![file.to_owned()] }
    }

    /// The line a, b, c, d: what is named of which commit, and of which pairs the files were asked for.
    fn names(
        line: &[CommitInfo],
        wanted: &[bool],
        before: &mut BTreeMap<String, FilesNamed>,
    ) -> (Vec<Option<FilesNamed>>, Vec<String>) {
        let walked = Walked { commits: line.to_vec(), tagged: BTreeSet::new() };
        let mut all: Vec<_> =
            line.iter().cloned().zip(wanted).map(|(commit, wanted)| planned(commit, *wanted)).collect();
        let asked = RefCell::new(Vec::new());
        let files = |from: &CommitInfo, to: &CommitInfo| {
            asked.borrow_mut().push(format!("{}..{}", from.id, to.id));
            let changed = FileChange { path: format!("{}.c", to.id), lines: None };
            Ok(FilesChanged::of(vec![changed]))
        };
        name_files(&mut all, &walked, before, &files).unwrap();
        (all.into_iter().map(|one| one.commit.files).collect(), asked.into_inner())
    }

    #[test]
    fn files_of_wanted_commits_are_asked_for_and_those_of_earlier_runs_are_kept() {
        let line = [
            commit("a", "t", &["0"]),
            commit("b", "t", &["a"]),
            commit("c", "t", &["b", "x"]),
            commit("d", "t", &["c"]),
        ];
        let mut before = BTreeMap::from([("b".to_owned(), named("known.c")), ("d".to_owned(), named("other.c"))]);
        let (files, asked) = names(&line, &[true, true, true, false], &mut before);
        assert_eq!(files, [None, Some(named("known.c")), Some(named("c.c")), Some(named("other.c"))]);
        assert_eq!(asked, ["b..c"], "the first one has no parent here, and a merge's first parent is its parent");
        let (files, asked) = names(&line, &[false; 4], &mut BTreeMap::new());
        assert_eq!((files, asked), (vec![None; 4], vec![]), "nothing is asked of commits that are not measured");
    }

    #[test]
    fn a_release_that_is_no_commit_has_no_files() {
        let line = [commit("1.0", "", &[]), commit("1.1", "", &["1.0"])];
        assert_eq!(names(&line, &[true; 2], &mut BTreeMap::new()), (vec![None; 2], vec![]));
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let line = [commit("a", "t", &[]), commit("b", "t", &["a"])];
        let walked = Walked { commits: line.to_vec(), tagged: BTreeSet::new() };
        let files = |_: &CommitInfo, _: &CommitInfo| Err(Error::usage("git does not work", ""));
        let failed = name_files(&mut [planned(line[1].clone(), true)], &walked, &mut BTreeMap::new(), &files);
        assert_eq!(failed.unwrap_err().problem, "git does not work");
    }
}
