//! Executions of a run without loading the run: some of their lines; a range of the samples of one, and its console.

use crate::connection::{Connection, Purpose, Result, Row, Value, from_json, params};
use crate::load::{item, read_measure};
use crate::{Store, StoreError};
use faultline_model::execution::{ExecutionLine, SampleRange, Samples};
use faultline_model::journal::AttemptId;
use faultline_model::protocol::Interval;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use faultline_model::time::UnixMillis;

impl Store {
    /// Up to `most` executions of a run, or of one of its subjects, in the order in which they began: those after `after`, or the first ones. Empty if there is no
    /// such run. Fails if the database cannot be read.
    pub fn list_executions(
        &self,
        run: RunId,
        after: Option<AttemptId>,
        subject: Option<SubjectIndex>,
        most: u32,
    ) -> Result<Vec<ExecutionLine>, StoreError> {
        let of_subject = if subject.is_some() { "AND item.subject = ?4" } else { "" };
        // The columns of an item come first, as `item` reads them.
        let query = format!(
            "SELECT item.ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed,
                            attempt.id, attempt.started_ms, attempt.outcome
                     FROM attempt JOIN item ON item.run_id = attempt.run_id AND item.ordinal = attempt.ordinal
                     JOIN run ON run.id = attempt.run_id AND run.kind <> 'deleted'
                     WHERE attempt.run_id = ?1 AND attempt.id > ?2 {of_subject} ORDER BY attempt.id LIMIT ?3"
        );
        let mut those = params![run.0, after.map_or(0, |after| after.0), most].to_vec();
        those.extend(subject.map(|subject| Value::from(subject.0)));
        self.connection.rows(&query, &those, line).map_err(self.failed("read a run from"))
    }

    /// A range of the samples of an execution of a run; `None` if the run has no such execution. Reads only that range. Fails if the database cannot be read.
    pub fn load_samples(
        &self,
        run: RunId,
        execution: AttemptId,
        range: &SampleRange,
    ) -> Result<Option<Samples>, StoreError> {
        read_samples(&self.connection, run, execution, range).map_err(self.failed("read a run from"))
    }

    /// The last output of the console of the machine that was booted for an execution of a run; `None` if none was, if it printed nothing, or if the outcome has it.
    /// Fails if the database cannot be read.
    pub fn load_console(&self, run: RunId, execution: AttemptId) -> Result<Option<String>, StoreError> {
        let query = "SELECT text FROM console JOIN attempt ON attempt.id = console.attempt_id
                     WHERE attempt.id = ?1 AND attempt.run_id = ?2";
        let found = self.connection.optional_row(query, params![execution.0, run.0], |row| row.get(0));
        found.map_err(self.failed("read a run from"))
    }
}

fn line(row: &Row<'_>) -> Result<ExecutionLine> {
    let item = item(row)?;
    let has_ended = row.get::<Option<String>>(13)?.is_some();
    Ok(ExecutionLine {
        id: AttemptId(row.get(11)?),
        ordinal: item.ordinal,
        block: item.block,
        subject: item.subject,
        cell: item.cell,
        started: UnixMillis(row.get(12)?),
        outcome: if has_ended { Some(from_json(row, 13)?) } else { None },
    })
}

fn read_samples(
    connection: &Connection,
    run: RunId,
    execution: AttemptId,
    range: &SampleRange,
) -> Result<Option<Samples>> {
    // One snapshot for all queries, because a run may be writing at the same time.
    connection.transaction(Purpose::Read, |snapshot| {
        let there = "SELECT attempt.id FROM attempt JOIN run ON run.id = attempt.run_id AND run.kind <> 'deleted'
                     WHERE attempt.id = ?1 AND attempt.run_id = ?2";
        if snapshot.optional_row(there, params![execution.0, run.0], |_| Ok(()))?.is_none() {
            return Ok(None);
        }
        let phase = range.phase.word();
        let count = "SELECT count(*) FROM sample WHERE attempt_id = ?1 AND phase = ?2";
        let total = snapshot.row(count, params![execution.0, phase], |row| row.get(0))?;
        // Samples are numbered from 0 without gaps, so the primary key finds the range.
        let query = "SELECT from_ns, to_ns, operations FROM sample
                     WHERE attempt_id = ?1 AND phase = ?2 AND number >= ?3 ORDER BY number LIMIT ?4";
        let intervals = snapshot.rows(query, params![execution.0, phase, range.from, range.most], |row| {
            Ok(Interval {
                from_ns: row.get::<i64>(0)? as u64,
                to_ns: row.get::<i64>(1)? as u64,
                operations: from_json(row, 2)?,
            })
        })?;
        let query =
            "SELECT attempt_id, name, unit, direction, value FROM measure WHERE attempt_id = ?1 ORDER BY number";
        let measures = snapshot.rows(query, params![execution.0], read_measure)?;
        Ok(Some(Samples { total, from: range.from, intervals, measures }))
    })
}
