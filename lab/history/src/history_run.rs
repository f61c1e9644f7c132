//! `history run`: builds and measures the picked commits of a subject that have no result yet.

use crate::commits::{Commits, Walked};
use crate::over::{Asked, Now, Over};
use crate::run;
use faultline_experiment::stored::StoredHistory;
use faultline_experiment::{Error, Lab, Measured, Notice, await_host};
use faultline_record::commit::{CommitInfo, CommitLine, FilesNamed};
use faultline_record::explained::FilesChanged;
use faultline_record::plan::RunKind;
use faultline_record::record::RunState;
use faultline_stats::history::PlannedCommit;
use std::collections::BTreeMap;

/// The result of a request.
#[derive(Debug)]
pub enum Ran {
    /// An earlier run was continued. Measuring what is missing after it takes another call.
    Continued(Measured),
    /// Commits were measured.
    Measured {
        /// The result.
        measured: Measured,
        /// Number of commits to be measured for the first time.
        new: u32,
    },
    /// Each picked commit has a result.
    Nothing {
        /// Number of picked commits.
        picked: usize,
    },
}

/// Measures the missing commits of a subject; with adaptive picking, the most informative ones.
/// Continues a run that was stopped instead, if there is one. Fails if the repository or a machine
/// is not available, or if the database cannot be written. A commit that does not build or run is a
/// result.
pub fn run(over: &Over<'_>, ask: Asked<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Ran, Error> {
    let now = now(over, commits, lab)?;
    let known = over.comparable(&now.settings, lab.places)?;
    if let Some(open) = known.iter().find(|run| run.head.state == RunState::Open && now.has_tools_of(run)) {
        let run = open.head.id;
        lab.observer.notice(&Notice::ContinuingHistory { run });
        return run::continue_run(run, over.subject.line.limit_ms, commits, lab).map(Ran::Continued);
    }
    let walked = commits.walk(&over.subject.which, lab)?;
    let mut named = named_before(&known);
    let mut planned = over.plan(&walked, known, &now, ask);
    let new = planned.iter().filter(|one| one.is_wanted && one.is_measured.is_none()).count() as u32;
    let wanted: Vec<u32> = (0..).zip(&planned).filter(|(_, one)| one.is_wanted).map(|(position, _)| position).collect();
    let mut settings = now.settings;
    let RunKind::History(history) = &mut settings.kind else { return Ok(Ran::Nothing { picked: 0 }) };
    if wanted.is_empty() {
        return Ok(Ran::Nothing { picked: planned.iter().filter(|one| one.is_picked).count() });
    }
    if matches!(ask, Asked::Missing { measured: 0, .. }) {
        over.note_prospect(&planned, &walked, lab)?;
    }
    let files = |parent: &_, commit: &_| commits.files(parent, commit, lab);
    name_files(&mut planned, &walked, &mut named, &files)?;
    history.wanted = wanted;
    history.measured.line = CommitLine { commits: planned.into_iter().map(|one| one.commit).collect() };
    run::begin(&settings, None, commits, lab).map(|measured| Ran::Measured { measured, new })
}

/// The request as of now. An installed build may have taken its host down. If a run is open, waits
/// for the host and power-cycles it once, as a resume does.
fn now(over: &Over<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Now, Error> {
    let now = over.now(commits, lab);
    let line = &over.subject.line;
    let (Err(error), Some(on)) = (&now, line.on.as_ref().filter(|_| line.release_file.is_some())) else {
        return now;
    };
    let is_open = over.stored(lab.places)?.iter().any(|run| run.head.state == RunState::Open);
    if *error == Error::stopped() || !is_open {
        return now;
    }
    await_host(on, lab)?;
    over.now(commits, lab)
}

/// Files that earlier runs named, by commit.
fn named_before(runs: &[StoredHistory]) -> BTreeMap<String, FilesNamed> {
    let lines =
        runs.iter().rev().filter_map(|run| run.head.settings.history()).flat_map(|history| &history.line.commits);
    lines.filter_map(|commit| Some((commit.id.clone(), commit.files.clone()?))).collect()
}

/// Names the files that the wanted commits changed; others keep those of earlier runs. They are
/// saved with the line, so pages show them without the repository. A commit whose parent was not
/// walked has none. `files`: the files that differ between two commits.
fn name_files(
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
        // A release that is no commit has no tree.
        let parent = parent.filter(|_| one.is_wanted && known.is_none() && !commit.tree.is_empty());
        let now = parent.map(|parent| files(parent, commit)).transpose()?;
        one.commit.files = known.or(now.as_ref().map(FilesNamed::of));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::explained::FileChange;
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

    /// The line a, b, c, d: the names of each commit's files, and the pairs whose files were asked
    /// for.
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
