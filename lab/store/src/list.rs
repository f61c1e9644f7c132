//! The list of runs: one line for each, without loading any run; and how far each is.

use crate::connection::{Connection, Failure, Purpose, Result, Row, from_json, params};
use crate::load::state;
use crate::{Store, StoreError};
use faultline_model::machine_facts::SessionFacts;
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunId, RunLine, RunProgress, RunState};
use faultline_model::subject::KindOfSubject;
use faultline_model::time::UnixMillis;
use std::collections::HashMap;

impl Store {
    /// Every run, the newest first, without what a history's run measures: only its settings say that. Fails if the database cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunLine>, StoreError> {
        let lines = self.connection.transaction(Purpose::Read, |snapshot| {
            let mut lines = read_lines(snapshot)?;
            let mut workloads = texts_by_run(snapshot, WORKLOADS)?;
            let mut sides = texts_by_run(snapshot, SIDES)?;
            for line in &mut lines {
                line.workloads = workloads.remove(&line.id.0).unwrap_or_default();
                line.sides = sides.remove(&line.id.0).unwrap_or_default();
            }
            Ok(lines)
        });
        lines.map_err(self.failed("read the runs from"))
    }

    /// How far each run of a kind is, the newest first. Fails if the database cannot be read.
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
}

/// Counts the rows of unfinished runs.
impl Store {
    /// The facts of the newest sessions, up to `most`, the newest first: of each those of the first subject's machine. Sessions without facts are left out. Fails if the
    /// database cannot be read.
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

/// The workloads of each run, in the order in which they come first.
const WORKLOADS: &str = "SELECT run_id, workload FROM item GROUP BY run_id, workload ORDER BY run_id, min(ordinal)";

/// The names of the sides of each comparison.
const SIDES: &str = "SELECT subject.run_id, subject.name FROM subject JOIN run ON run.id = subject.run_id
                     WHERE run.kind = 'comparison' ORDER BY subject.run_id, subject.number";

/// The rows of a query that returns runs with a text, by run.
fn texts_by_run(connection: &Connection, query: &str) -> Result<HashMap<i64, Vec<String>>> {
    let mut by_run: HashMap<i64, Vec<String>> = HashMap::new();
    for (run, text) in connection.rows(query, params![], |row| Ok((row.get::<i64>(0)?, row.get(1)?)))? {
        by_run.entry(run).or_default().push(text);
    }
    Ok(by_run)
}

/// The lines of all runs, without their workloads and sides.
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
        // What was built and measured decides what is planned next.
        let grows = state == RunState::Open && matches!(kind, KindOfRun::Drill | KindOfRun::History);
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

/// The value whose word is saved in a column.
fn named<T: Copy>(
    column: usize,
    saved: &str,
    all: impl IntoIterator<Item = T>,
    word: fn(T) -> &'static str,
) -> Result<T> {
    let unknown = || Failure::unreadable(column, format_args!("a newer version saved {saved}"));
    all.into_iter().find(|&value| word(value) == saved).ok_or_else(unknown)
}
