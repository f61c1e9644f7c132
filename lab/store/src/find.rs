//! Finds runs: the newest, by label, by the commit of a subject, by the history that they measured.

use crate::connection::{Connection, Result, Row, Value, from_json, params};
use crate::{Store, StoreError, server};
use faultline_model::count::Count;
use faultline_model::named_change::{NamedChange, SeriesName};
use faultline_model::plan::Settings;
use faultline_model::record::RunId;
use faultline_model::subject::{Commit, SubjectIndex};
use serde::Deserialize;
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
        let query = "SELECT id, settings FROM run WHERE kind = 'history' ORDER BY id DESC";
        let runs = self.found(query, params![], |row| {
            let HistorySettings { kind } = from_json(row, 1)?;
            Ok((kind.subject == subject && kind.repository == repository).then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// The finished searches that were to confirm a change of a series, the oldest first; also those of older versions, which saved no conditions. Fails if the database cannot be read.
    pub fn searches_of_history(&self, series: &SeriesName) -> Result<Vec<RunId>, StoreError> {
        let query = "SELECT id, settings FROM run WHERE kind = 'drill' AND finished = 1 ORDER BY id";
        let runs = self.found(query, params![], |row| {
            let SearchSettings { kind } = from_json(row, 1)?;
            let is_it = kind.of.is_some_and(|of| {
                of.subject == series.subject
                    && of.repository == series.repository
                    && of.tasks == series.tasks
                    && of.counted.as_deref().unwrap_or_default() == series.counted.map_or("", Count::word)
                    && (of.conditions.is_empty() || of.conditions == series.conditions)
            });
            Ok(is_it.then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// The newest search for a change that is not finished, if there is one. Fails if the database cannot be read.
    pub fn open_search_of(&self, change: &NamedChange) -> Result<Option<RunId>, StoreError> {
        let query = "SELECT id, settings FROM run WHERE kind = 'drill' AND finished = 0 ORDER BY id DESC";
        let runs = self.found(query, params![], |row| {
            let settings: Settings = from_json(row, 1)?;
            let is_it = settings.drill().is_some_and(|search| search.of.as_ref() == Some(change));
            Ok(is_it.then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().next())
    }

    /// The run that started last, if there is one. Fails if the database cannot be read.
    pub fn newest_run(&self) -> Result<Option<RunId>, StoreError> {
        Ok(self
            .runs("SELECT id FROM run WHERE kind <> 'deleted' ORDER BY id DESC LIMIT 1", params![])?
            .first()
            .copied())
    }

    /// The run that started last, is not finished, and is not measured on another machine at the moment. Fails if the database cannot be read.
    pub fn newest_open_run(&self) -> Result<Option<RunId>, StoreError> {
        let query = match self.connection {
            Connection::Sqlite(_) => "SELECT id FROM run WHERE finished = 0 ORDER BY id DESC LIMIT 1".to_owned(),
            Connection::Postgres(_) => {
                format!("SELECT id FROM run WHERE finished = 0 AND {} ORDER BY id DESC LIMIT 1", server::is_free())
            }
        };
        Ok(self.runs(&query, params![])?.first().copied())
    }

    /// The runs with exactly that label, the newest first. Fails if the database cannot be read.
    pub fn runs_labelled(&self, label: &str) -> Result<Vec<RunId>, StoreError> {
        self.runs("SELECT id FROM run WHERE label = ?1 ORDER BY id DESC", params![label])
    }

    /// The subjects built from the commit with that name, or from the only commit whose name begins with it, the newest first. Empty if it cannot be
    /// a commit's name. Fails if several commits begin with it, or if the database cannot be read.
    pub fn runs_of_commit(&self, name: &str) -> Result<Vec<CommitRun>, StoreError> {
        let Some(Commit { id: name, .. }) = Commit::named(name) else { return Ok(Vec::new()) };
        // "g" comes after all hexadecimal digits. So names that begin with this one are between the bounds, and the index finds them.
        let query =
            "SELECT run_id, number, commit_id, build FROM subject WHERE commit_id >= ?1 AND commit_id < ?1 || 'g'
                     ORDER BY run_id DESC, number";
        let found = self.found(query, params![&name], |row| {
            let one = CommitRun { run: RunId(row.get(0)?), subject: SubjectIndex(row.get(1)?), commit: row.get(2)? };
            Ok((!is_layout(row, 3)?).then_some(one))
        })?;
        let mut found: Vec<CommitRun> = found.into_iter().flatten().collect();
        if found.iter().any(|one| one.commit == name) {
            found.retain(|one| one.commit == name);
        }
        let commits: BTreeSet<&str> = found.iter().map(|one| one.commit.as_str()).collect();
        match commits.iter().collect::<Vec<_>>().as_slice() {
            [one, other, ..] => Err(StoreError::ambiguous(&name, one, other)),
            _ => Ok(found),
        }
    }

    fn runs(&self, query: &str, of: &[Value<'_>]) -> Result<Vec<RunId>, StoreError> {
        self.found(query, of, |row| Ok(RunId(row.get(0)?)))
    }

    fn found<T>(
        &self,
        query: &str,
        of: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection.rows(query, of, read).map_err(self.failed("read the runs in"))
    }
}

/// Of the settings of a history, what it measured.
#[derive(Debug, Deserialize)]
struct HistorySettings {
    kind: HistoryLine,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HistoryLine {
    subject: String,
    repository: String,
}

/// Of the settings of a search, what it searches.
#[derive(Debug, Deserialize)]
struct SearchSettings {
    kind: SearchLine,
}

#[derive(Debug, Deserialize)]
struct SearchLine {
    #[serde(default)]
    of: Option<SearchedSeries>,
}

/// The series of a history whose change a search is to confirm.
#[derive(Debug, Deserialize)]
struct SearchedSeries {
    subject: String,
    repository: String,
    tasks: u32,
    #[serde(default)]
    counted: Option<String>,
    #[serde(default)]
    conditions: String,
}

/// Of a build's result, its kind.
#[derive(Debug, Deserialize)]
struct Build {
    kind: String,
}

/// Whether a subject was built as a random layout of its commit: that is no run of the commit. `column`: its build.
fn is_layout(row: &Row<'_>, column: usize) -> Result<bool> {
    if row.value(column)? == Value::Null {
        return Ok(false);
    }
    Ok(from_json::<Build>(row, column)?.kind == "relinked")
}
