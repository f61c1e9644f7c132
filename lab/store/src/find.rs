//! Finds runs: the newest, by label, by the commit of a subject, by the history that they measured.

use crate::{Store, StoreError};
use faultline_model::count::Count;
use faultline_model::named_change::SeriesName;
use faultline_model::record::RunId;
use faultline_model::subject::{Commit, SubjectIndex};
use rusqlite::{Params, Row, params};
use std::collections::BTreeSet;

/// A subject of a run that was built from a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRun {
    /// The run.
    pub run: RunId,
    /// Which of its subjects.
    pub subject: SubjectIndex,
    /// The commit's name, as it was given.
    pub commit: String,
}

impl Store {
    /// The runs that measured commits of a subject's history, the newest first. `repository`: the directory, as it is saved. Fails if the database cannot be read.
    pub fn runs_of_history(&self, subject: &str, repository: &str) -> Result<Vec<RunId>, StoreError> {
        let query = "SELECT id FROM run WHERE kind = 'history' AND json_extract(settings, '$.kind.subject') = ?1
                     AND json_extract(settings, '$.kind.repository') = ?2 ORDER BY id DESC";
        self.runs(query, [subject, repository])
    }

    /// The finished searches that were to confirm a change of a series, the oldest first. Fails if the database cannot be read.
    pub fn searches_of_history(&self, series: &SeriesName) -> Result<Vec<RunId>, StoreError> {
        let query = "SELECT id FROM run WHERE kind = 'drill' AND finished = 1
                     AND json_extract(settings, '$.kind.of.subject') = ?1
                     AND json_extract(settings, '$.kind.of.repository') = ?2
                     AND json_extract(settings, '$.kind.of.tasks') = ?3
                     AND coalesce(json_extract(settings, '$.kind.of.counted'), '') = ?4 ORDER BY id";
        let counted = series.counted.map_or("", Count::word);
        self.runs(query, params![series.subject, series.repository, series.tasks, counted])
    }

    /// The run that started last, if there is one. Fails if the database cannot be read.
    pub fn newest_run(&self) -> Result<Option<RunId>, StoreError> {
        Ok(self.runs("SELECT id FROM run WHERE kind <> 'deleted' ORDER BY id DESC LIMIT 1", [])?.first().copied())
    }

    /// The run that started last and is not finished. Fails if the database cannot be read.
    pub fn newest_open_run(&self) -> Result<Option<RunId>, StoreError> {
        Ok(self.runs("SELECT id FROM run WHERE finished = 0 ORDER BY id DESC LIMIT 1", [])?.first().copied())
    }

    /// The runs with exactly that label, the newest first. Fails if the database cannot be read.
    pub fn runs_labelled(&self, label: &str) -> Result<Vec<RunId>, StoreError> {
        self.runs("SELECT id FROM run WHERE label = ?1 ORDER BY id DESC", [label])
    }

    /// The subjects built from the commit with that name, or from the only commit whose name begins with it, the newest first. Empty if it cannot be
    /// a commit's name. Fails if several commits begin with it, or if the database cannot be read.
    pub fn runs_of_commit(&self, name: &str) -> Result<Vec<CommitRun>, StoreError> {
        let Some(Commit { id: name, .. }) = Commit::named(name) else { return Ok(Vec::new()) };
        // "g" comes after all hexadecimal digits. So names that begin with this one are between the bounds, and the index finds them.
        // A random layout of a commit is no run of the commit.
        let query = "SELECT run_id, number, commit_id FROM subject WHERE commit_id >= ?1 AND commit_id < ?1 || 'g'
                     AND coalesce(json_extract(build, '$.kind'), '') <> 'relinked' ORDER BY run_id DESC, number";
        let mut found = self.found(query, [&name], |row| {
            Ok(CommitRun { run: RunId(row.get(0)?), subject: SubjectIndex(row.get(1)?), commit: row.get(2)? })
        })?;
        if found.iter().any(|one| one.commit == name) {
            found.retain(|one| one.commit == name);
        }
        let commits: BTreeSet<&str> = found.iter().map(|one| one.commit.as_str()).collect();
        match commits.iter().collect::<Vec<_>>().as_slice() {
            [one, other, ..] => Err(StoreError::ambiguous(&name, one, other)),
            _ => Ok(found),
        }
    }

    fn runs(&self, query: &str, of: impl Params) -> Result<Vec<RunId>, StoreError> {
        self.found(query, of, |row| Ok(RunId(row.get(0)?)))
    }

    fn found<T>(
        &self,
        query: &str,
        of: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.connection.prepare(query).and_then(|mut statement| statement.query_map(of, read)?.collect());
        found.map_err(self.failed("read the runs in"))
    }
}
