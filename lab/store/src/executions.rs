//! Executions, samples, consoles and missing items of a run, without loading the run.

use crate::connection::{Connection, Purpose, Result, Row, Value, from_json, params};
use crate::load::{item, read_measure};
use crate::{Store, StoreError, checksum};
use faultline_record::execution::{ExecutionLine, SampleRange, Samples};
use faultline_record::journal::AttemptId;
use faultline_record::plan::PlanItem;
use faultline_record::protocol::Interval;
use faultline_record::record::RunId;
use faultline_record::subject::SubjectIndex;
use faultline_record::time::UnixMillis;

impl Store {
    /// At most `most` executions of a run, or of one of its subjects, in the order of their start,
    /// from the first one after `after`. Empty if there is no such run. Fails if the database
    /// cannot be read.
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

    /// A range of the samples of an execution; `None` if the run has no such execution. Fails if
    /// the execution does not match its checksum, or if the database cannot be read.
    pub fn load_samples(
        &self,
        run: RunId,
        execution: AttemptId,
        range: &SampleRange,
    ) -> Result<Option<Samples>, StoreError> {
        read_samples(&self.connection, run, execution, range).map_err(self.failed("read a run from"))
    }

    /// The last console output of the machine booted for an execution; `None` if no machine was
    /// booted, it printed nothing, or the outcome contains it. Fails if the database cannot be
    /// read.
    pub fn load_console(&self, run: RunId, execution: AttemptId) -> Result<Option<String>, StoreError> {
        let query = "SELECT text FROM console JOIN attempt ON attempt.id = console.attempt_id
                     WHERE attempt.id = ?1 AND attempt.run_id = ?2";
        let found = self.connection.optional_row(query, params![execution.0, run.0], |row| row.get(0));
        found.map_err(self.failed("read a run from"))
    }

    /// The items of a run that neither ended nor were skipped, in the plan's order. Fails if the
    /// database cannot be read.
    pub fn missing_items(&self, run: RunId) -> Result<Vec<PlanItem>, StoreError> {
        let query = "SELECT ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed
                     FROM item
                     WHERE run_id = ?1 AND skipped = 0 AND NOT EXISTS (
                         SELECT 1 FROM attempt WHERE attempt.run_id = item.run_id AND attempt.ordinal = item.ordinal AND final = 1
                     )
                     ORDER BY ordinal";
        self.connection.rows(query, params![run.0], item).map_err(self.failed("read a run from"))
    }

    /// Time of a run's executions so far, in milliseconds, in all sessions. An attempt that was
    /// killed with its session counts nothing, because its end is unknown. Fails if the database
    /// cannot be read.
    pub fn executed_ms(&self, run: RunId) -> Result<u64, StoreError> {
        let query = "SELECT coalesce(CAST(sum(ended_ms - started_ms) AS BIGINT), 0) FROM attempt
                     WHERE run_id = ?1 AND ended_ms > started_ms AND NOT EXISTS (
                         SELECT 1 FROM session WHERE session.run_id = attempt.run_id
                         AND session.number = attempt.session + 1 AND session.started_ms = attempt.ended_ms
                     )";
        let sum = self.connection.row(query, params![run.0], |row| row.get::<i64>(0));
        sum.map(i64::unsigned_abs).map_err(self.failed("read a run from"))
    }

    /// Number of a run's failed attempts, without unsupported and interrupted ones. Fails if the
    /// database cannot be read.
    pub fn failed_attempts(&self, run: RunId) -> Result<u32, StoreError> {
        let query = "SELECT count(*) FROM attempt
                     WHERE run_id = ?1 AND outcome_kind NOT IN ('done', 'unsupported', 'interrupted', 'lab_failed', 'connection_lost')";
        self.connection.row(query, params![run.0], |row| row.get(0)).map_err(self.failed("read a run from"))
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
    // One snapshot for all queries, because a run may write at the same time.
    connection.transaction(Purpose::Read, |snapshot| {
        let there = "SELECT attempt.id FROM attempt JOIN run ON run.id = attempt.run_id AND run.kind <> 'deleted'
                     WHERE attempt.id = ?1 AND attempt.run_id = ?2";
        if snapshot.optional_row(there, params![execution.0, run.0], |_| Ok(()))?.is_none() {
            return Ok(None);
        }
        // Its checksum needs all samples.
        checksum::check(snapshot, run, ("a.run_id = ?1 AND a.id = ?2", params![run.0, execution.0]))?;
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
