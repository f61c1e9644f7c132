//! The list of runs, and runs found by label, commit or history, without loading any run.

use crate::connection::{Connection, Failure, Purpose, Result, Row, Value, from_bounded_json, from_json, params};
use crate::load::state;
use crate::{Store, StoreError, server};
use faultline_record::facts::SessionFacts;
use faultline_record::named_change::{NamedChange, SeriesName};
use faultline_record::plan::{KindOfRun, Settings};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunId, RunLine, RunProgress, RunState};
use faultline_record::subject::{Commit, KindOfSubject, SubjectIndex};
use faultline_record::time::UnixMillis;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};

/// A run's subject that was built from a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRun {
    /// The run.
    pub run: RunId,
    /// The subject's index.
    pub subject: SubjectIndex,
    /// The full name of the commit.
    pub commit: String,
}

impl Store {
    /// The runs that measured a subject's history, newest first. `repository` is the saved
    /// directory. Fails if the database cannot be read.
    pub fn runs_of_history(&self, subject: &str, repository: &str) -> Result<Vec<RunId>, StoreError> {
        let query = "SELECT id, settings FROM run WHERE kind = 'history' ORDER BY id DESC";
        let runs = self.found(query, params![], |row| {
            let HistorySettings { kind } = from_json(row, 1)?;
            Ok((kind.subject == subject && kind.repository == repository).then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// The finished searches for changes of a series, oldest first. Fails if the database cannot be
    /// read.
    pub fn searches_of_history(&self, series: &SeriesName) -> Result<Vec<RunId>, StoreError> {
        let query = "SELECT id, settings FROM run WHERE kind = 'bisect' AND finished = 1 ORDER BY id";
        let runs = self.found(query, params![], |row| {
            let SearchSettings { kind } = from_json(row, 1)?;
            let is_it = kind.of.is_some_and(|of| {
                of.subject == series.subject
                    && of.repository == series.repository
                    && of.tasks == series.tasks
                    && of.quantity == series.quantity
                    && of.conditions == series.conditions
            });
            Ok(is_it.then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// The newest unfinished search for a change, if there is one. Fails if the database cannot be
    /// read.
    pub fn open_search_of(&self, change: &NamedChange) -> Result<Option<RunId>, StoreError> {
        let query = "SELECT id, settings FROM run WHERE kind = 'bisect' AND finished = 0 ORDER BY id DESC";
        let runs = self.found(query, params![], |row| {
            let settings: Settings = from_bounded_json(row, 1)?;
            let is_it = settings.bisect().is_some_and(|search| search.of.as_ref() == Some(change));
            Ok(is_it.then_some(RunId(row.get(0)?)))
        })?;
        Ok(runs.into_iter().flatten().next())
    }

    /// The newest run, if there is one. Fails if the database cannot be read.
    pub fn newest_run(&self) -> Result<Option<RunId>, StoreError> {
        Ok(self
            .runs("SELECT id FROM run WHERE kind <> 'deleted' ORDER BY id DESC LIMIT 1", params![])?
            .first()
            .copied())
    }

    /// The newest unfinished run that no other machine is measuring. Fails if the database cannot
    /// be read.
    pub fn newest_open_run(&self) -> Result<Option<RunId>, StoreError> {
        let query = match self.connection {
            Connection::Sqlite(_) => return self.newest_unfinished_run(),
            Connection::Postgres(_) => {
                format!("SELECT id FROM run WHERE finished = 0 AND {} ORDER BY id DESC LIMIT 1", server::is_free())
            }
        };
        Ok(self.runs(&query, params![])?.first().copied())
    }

    /// The newest unfinished run, even if another machine is measuring it, or a lost session still
    /// holds it. Fails if the database cannot be read.
    pub fn newest_unfinished_run(&self) -> Result<Option<RunId>, StoreError> {
        let query = "SELECT id FROM run WHERE finished = 0 ORDER BY id DESC LIMIT 1";
        Ok(self.runs(query, params![])?.first().copied())
    }

    /// The runs with this label, newest first. Fails if the database cannot be read.
    pub fn runs_labelled(&self, label: &str) -> Result<Vec<RunId>, StoreError> {
        self.runs("SELECT id FROM run WHERE label = ?1 ORDER BY id DESC", params![label])
    }

    /// The subjects built from the commit with this name, or from the only commit whose name begins
    /// with it, newest first. Empty if it cannot be the name of a commit. Fails if several commits
    /// begin with it, or if the database cannot be read.
    pub fn runs_of_commit(&self, name: &str) -> Result<Vec<CommitRun>, StoreError> {
        let Some(Commit { id: name, .. }) = Commit::named(name) else { return Ok(Vec::new()) };
        // "g" comes after all hexadecimal digits, so the index finds the names with this prefix
        // between these bounds.
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

/// The part of a history's settings that says what it measured.
#[derive(Debug, Deserialize)]
struct HistorySettings {
    kind: HistoryLine,
}

#[derive(Debug, Deserialize)]
struct HistoryLine {
    subject: String,
    repository: String,
}

/// The part of a search's settings that says what it searches.
#[derive(Debug, Deserialize)]
struct SearchSettings {
    kind: SearchLine,
}

#[derive(Debug, Deserialize)]
struct SearchLine {
    asked: Option<[String; 2]>,
    of: Option<SearchedSeries>,
}

/// The series of the change that a search examines.
#[derive(Debug, Deserialize)]
struct SearchedSeries {
    subject: String,
    repository: String,
    tasks: u32,
    quantity: Quantity,
    conditions: String,
}

/// The kind of a build's result.
#[derive(Debug, Deserialize)]
struct Build {
    kind: String,
}

/// True if a subject is a random layout of its commit, which is not a run of the commit. `column`
/// holds its build.
fn is_layout(row: &Row<'_>, column: usize) -> Result<bool> {
    if row.value(column)? == Value::Null {
        return Ok(false);
    }
    Ok(from_json::<Build>(row, column)?.kind == "relinked")
}

impl Store {
    /// All runs, newest first, without the subjects of histories.
    /// Fails if the database cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunLine>, StoreError> {
        let lines = self.connection.transaction(Purpose::Read, |snapshot| {
            let mut lines = read_lines(snapshot)?;
            let mut workloads = texts_by_run(snapshot, WORKLOADS)?;
            let mut sides = texts_by_run(snapshot, SIDES)?;
            sides.extend(searched(snapshot)?);
            for line in &mut lines {
                line.workloads = workloads.remove(&line.id.0).unwrap_or_default();
                line.sides = sides.remove(&line.id.0).unwrap_or_default();
            }
            Ok(lines)
        });
        lines.map_err(self.failed("read the runs from"))
    }

    /// Progress of each run of a kind, newest first. Counts are 0 for finished runs. Fails if the
    /// database cannot be read.
    pub fn progress_of(&self, kind: KindOfRun) -> Result<Vec<RunProgress>, StoreError> {
        let progress = |row: &Row<'_>| {
            Ok(RunProgress {
                id: RunId(row.get(0)?),
                state: state(row.get(1)?),
                subjects: row.get(2)?,
                sessions: row.get(3)?,
                planned: row.get(4)?,
                first_block: row.get(5)?,
                skipped: row.get(6)?,
                attempts: row.get(7)?,
                ended: row.get(8)?,
            })
        };
        self.connection
            .rows(&progress_query(), params![kind.word()], progress)
            .map_err(self.failed("read the runs from"))
    }

    /// Facts of the newest sessions, at most `most`, newest first: of the first subject's machine
    /// in each. Leaves out sessions without facts. Fails if the database cannot be read.
    pub fn newest_facts(&self, most: u32) -> Result<Vec<SessionFacts>, StoreError> {
        let query = "SELECT session.run_id, session.started_ms, session_facts.facts FROM session
                     JOIN session_facts ON session_facts.run_id = session.run_id AND session_facts.session = session.number
                         AND session_facts.subject = 0
                     JOIN run ON run.id = session.run_id AND run.kind <> 'deleted'
                     ORDER BY session.run_id DESC, session.number DESC LIMIT ?1";
        let line = |row: &Row<'_>| {
            let (run, started) = (RunId(row.get(0)?), UnixMillis(row.get(1)?));
            Ok(SessionFacts { run, started, facts: from_json(row, 2)? })
        };
        self.connection.rows(query, params![most], line).map_err(self.failed("read facts from"))
    }
}

/// The query of [`Store::progress_of`]: it counts the rows of unfinished runs only.
fn progress_query() -> String {
    let count = |(table, those): (&str, &str)| {
        let count = format!("SELECT count(*) FROM {table} WHERE run_id = run.id {those}");
        format!("CASE run.finished WHEN 1 THEN 0 ELSE ({count}) END")
    };
    let counts = [
        ("subject", ""),
        ("session", ""),
        ("item", ""),
        ("item", "AND block = 0"),
        ("item", "AND skipped = 1"),
        ("attempt", ""),
        ("attempt", "AND outcome IS NOT NULL"),
    ];
    let counts = counts.map(count).join(", ");
    format!("SELECT run.id, run.finished, {counts} FROM run WHERE run.kind = ?1 ORDER BY run.id DESC")
}

/// Workloads of each run, in the order of their first items.
const WORKLOADS: &str = "SELECT run_id, workload FROM item GROUP BY run_id, workload ORDER BY run_id, min(ordinal)";

/// Names of the sides of each comparison, and of each measured command.
const SIDES: &str = "SELECT subject.run_id, subject.name FROM subject JOIN run ON run.id = subject.run_id
                     WHERE run.kind = 'comparison' OR (run.kind = 'timed' AND subject.kind = 'program')
                     ORDER BY subject.run_id, subject.number";

/// The texts of a query's rows by run. Each row has a run and a text.
fn texts_by_run(connection: &Connection, query: &str) -> Result<HashMap<i64, Vec<String>>> {
    let mut by_run: HashMap<i64, Vec<String>> = HashMap::new();
    for (run, text) in connection.rows(query, params![], |row| Ok((row.get::<i64>(0)?, row.get(1)?)))? {
        by_run.entry(run).or_default().push(text);
    }
    Ok(by_run)
}

/// The ends of each search as the user named them, or the subject of the searched history. A search
/// with unreadable settings has none.
fn searched(connection: &Connection) -> Result<Vec<(i64, Vec<String>)>> {
    let query = "SELECT id, settings FROM run WHERE kind = 'bisect'";
    connection.rows(query, params![], |row| {
        let ends = from_json::<SearchSettings>(row, 1).ok().map(|SearchSettings { kind }| {
            kind.asked.map(Vec::from).or(kind.of.map(|of| vec![of.subject])).unwrap_or_default()
        });
        Ok((row.get(0)?, ends.unwrap_or_default()))
    })
}

/// The lines of all runs, without workloads and sides.
fn read_lines(connection: &Connection) -> Result<Vec<RunLine>> {
    let query = "
        SELECT run.id, run.label, run.finished, session.started_ms, run.kind, run.suite, run.cpus, run.machine,
               (SELECT kind FROM subject WHERE run_id = run.id AND number = 0),
               (SELECT count(*) FROM item WHERE run_id = run.id),
               (SELECT count(*) FROM attempt WHERE run_id = run.id AND final = 1),
               (SELECT count(*) FROM attempt WHERE run_id = run.id AND final = 1
                AND outcome_kind NOT IN ('done', 'unsupported')),
               (SELECT count(*) FROM item WHERE run_id = run.id AND skipped = 1)
        FROM run JOIN session ON session.run_id = run.id AND session.number = 0
        ORDER BY run.id DESC";
    connection.rows(query, params![], |row| {
        let (state, planned) = (state(row.get(2)?), row.get(9)?);
        let kind = named(4, &row.get::<String>(4)?, KindOfRun::ALL, KindOfRun::word)?;
        // Results decide what is planned next.
        let grows = state == RunState::Open && kind.measures_commits();
        Ok(RunLine {
            id: RunId(row.get(0)?),
            label: row.get(1)?,
            started: UnixMillis(row.get(3)?),
            state,
            kind,
            suite: row.get(5)?,
            workloads: Vec::new(),
            sides: Vec::new(),
            subject: row
                .get::<Option<String>>(8)?
                .map(|word| named(8, &word, KindOfSubject::ALL, KindOfSubject::word))
                .transpose()?,
            cpus: from_json(row, 6)?,
            history: None,
            planned,
            whole: (!grows).then_some(planned),
            ended: row.get(10)?,
            failed: row.get(11)?,
            skipped: row.get(12)?,
            machine: row.get(7)?,
        })
    })
}

/// The value whose word a column holds.
fn named<T: Copy>(
    column: usize,
    saved: &str,
    all: impl IntoIterator<Item = T>,
    word: fn(T) -> &'static str,
) -> Result<T> {
    let unknown = || Failure::unreadable(column, format_args!("unknown word '{saved}'"));
    all.into_iter().find(|&value| word(value) == saved).ok_or_else(unknown)
}
