//! Undoes a commit on top of another, in an index of ours: no file is checked out, and no commit is made.

use super::Repository;
use super::git::Failure;
use super::patches::Bench;
use crate::undone::{Revert, Reverted};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::{CommitInfo, short_name};

impl Repository {
    /// Undoes a commit on top of another. That later commits changed the same lines is no error. Fails on a stop, or if git does not work.
    pub fn revert(&self, asked: &Revert<'_>, lab: &Lab<'_>) -> Result<Reverted, Error> {
        let Revert { commit, before, on } = *asked;
        if commit.tree == before.tree {
            return Ok(Reverted::Empty);
        }
        let bench = Bench::new(self, on, lab)?;
        if let Err(files) = bench.undo(commit, before, lab)? {
            return Ok(Reverted::Conflict(files));
        }
        let tree = bench.tree(lab)?;
        if tree == on.tree {
            return Ok(Reverted::Empty);
        }
        let subject = format!("without {}", short_name(&commit.id));
        Ok(Reverted::Tree(Box::new(CommitInfo {
            files: None,
            id: tree.clone(),
            tree,
            parents: vec![on.id.clone()],
            committed_s: on.committed_s,
            author: on.author.clone(),
            subject,
        })))
    }
}

impl Bench<'_> {
    /// Returns from a commit's files to those of another, in the index; files that were changed since are merged. Inner error: the files with conflicts.
    fn undo(&self, commit: &CommitInfo, before: &CommitInfo, lab: &Lab<'_>) -> Result<Result<(), Vec<String>>, Error> {
        let diff = self.directory.join("diff");
        let output = format!("--output={}", diff.display());
        let compare = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-textconv", "--no-ext-diff"];
        let ends = [output.as_str(), &commit.tree, &before.tree];
        self.repository.git.run(&[&compare[..], &ends].concat(), "compare two commits", lab)?;
        let git = self.repository.git.with(&[("GIT_INDEX_FILE", &self.index)]);
        let apply = ["apply", "--cached", "--3way", "--whitespace=nowarn", "--", &diff.to_string_lossy()];
        match git.lines(&apply, lab) {
            Ok(_) => Ok(Ok(())),
            Err(Failure::Exited(_)) => {
                let listed = git.run(&["diff", "--cached", "--name-only", "--diff-filter=U"], "list conflicts", lab)?;
                Ok(Err(listed))
            }
            Err(failure) => Err(failure.or_exited(Error::stopped, "undo a commit")),
        }
    }
}
