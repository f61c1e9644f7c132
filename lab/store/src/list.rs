//! The list of runs: one line for each, without loading any run.

use crate::load::{from_json, state};
use crate::{Store, StoreError};
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunId, RunLine};
use faultline_model::subject::KindOfSubject;
use faultline_model::time::UnixMillis;
use rusqlite::types::Type;
use rusqlite::{Connection, params};

impl Store {
    /// Every run, the newest first. Fails if the database cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunLine>, StoreError> {
        read_lines(&self.connection).map_err(self.failed("read the runs from"))
    }
}

fn read_lines(connection: &Connection) -> rusqlite::Result<Vec<RunLine>> {
    let query = r#"
        SELECT run.id, run.label, run.finished, session.started_ms, run.kind, run.suite, run.cpus, run.machine,
               (SELECT kind FROM subject WHERE run_id = run.id AND number = 0),
               (SELECT count(*) FROM item WHERE run_id = run.id),
               (SELECT count(*) FROM attempt WHERE run_id = run.id AND final = 1),
               (SELECT count(*) FROM attempt WHERE run_id = run.id AND final = 1
                AND outcome_kind NOT IN ('done', 'unsupported')),
               (SELECT count(*) FROM item WHERE run_id = run.id AND skipped = 1),
               CASE WHEN run.kind = 'comparison' THEN
                   (SELECT json_group_array(name) FROM (SELECT name FROM subject WHERE run_id = run.id ORDER BY number))
               ELSE '[]' END,
               (SELECT json_group_array(workload) FROM
                   (SELECT workload FROM item WHERE run_id = run.id GROUP BY workload ORDER BY min(ordinal)))
        FROM run JOIN session ON session.run_id = run.id AND session.number = 0
        ORDER BY run.id DESC"#;
    let mut statement = connection.prepare(query)?;
    let lines = statement.query_map(params![], |row| {
        Ok(RunLine {
            id: RunId(row.get(0)?),
            label: row.get(1)?,
            started: UnixMillis(row.get(3)?),
            state: state(row.get(2)?),
            kind: named(4, row.get(4)?, KindOfRun::ALL, KindOfRun::word)?,
            suite: row.get(5)?,
            workloads: from_json(row, 14)?,
            sides: from_json(row, 13)?,
            subject: row
                .get::<_, Option<String>>(8)?
                .map(|word| named(8, word, KindOfSubject::ALL, KindOfSubject::word))
                .transpose()?,
            cpus: from_json(row, 6)?,
            planned: row.get(9)?,
            ended: row.get(10)?,
            failed: row.get(11)?,
            skipped: row.get(12)?,
            machine: row.get(7)?,
        })
    })?;
    lines.collect()
}

/// The value whose word is saved in a column.
fn named<T: Copy>(
    column: usize,
    saved: String,
    all: impl IntoIterator<Item = T>,
    word: fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let unknown = || {
        let problem = format!("a newer version saved {saved}");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
    };
    all.into_iter().find(|&value| word(value) == saved).ok_or_else(unknown)
}
