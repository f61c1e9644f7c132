//! Answers about a run from its rows, without its samples: what is missing, how attempts ended, the values of a cell.

use crate::load::{item, rows};
use crate::{Store, StoreError};
use faultline_model::cell::Cell;
use faultline_model::journal::AttemptId;
use faultline_model::outcome::OutcomeCounts;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunId;
use faultline_model::subject::SubjectIndex;
use faultline_model::time::UnixMillis;
use rusqlite::named_params;
use std::ops::Range;

/// Attempts of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellAttempts {
    /// What is measured.
    pub subject: SubjectIndex,
    /// The cell.
    pub cell: Cell,
    /// Within these blocks.
    pub blocks: Range<u32>,
    /// Started within this time; at any time if `None`.
    pub begun: Option<Range<UnixMillis>>,
}

/// The figures of an attempt that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct CellValue {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its block.
    pub block: u32,
    /// When it began.
    pub started: UnixMillis,
    /// Intervals of its window.
    pub intervals: u32,
    /// Length of all of them in nanoseconds; `None` if it exceeds 64 bits.
    pub window_ns: Option<u64>,
    /// Operations of all tasks in them; `None` if they exceed 64 bits.
    pub operations: Option<u64>,
    /// Its first measure: the value of a workload that runs once.
    pub measure: Option<f64>,
}

impl Store {
    /// The items of a run that have not ended and are not skipped, in the order of the plan. Fails if the database cannot be read.
    pub fn missing_items(&self, run: RunId) -> Result<Vec<PlanItem>, StoreError> {
        let query = "SELECT ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed
                     FROM item
                     WHERE run_id = ?1 AND skipped = 0 AND NOT EXISTS (
                         SELECT 1 FROM attempt WHERE attempt.run_id = item.run_id AND attempt.ordinal = item.ordinal AND final = 1
                     )
                     ORDER BY ordinal";
        rows(&self.connection, query, run, item).map_err(self.failed("read a run from"))
    }

    /// How the attempts of a run ended: one entry for each subject, even without attempts. Fails if the database cannot be read.
    pub fn outcome_counts(&self, run: RunId) -> Result<Vec<OutcomeCounts>, StoreError> {
        let query = "SELECT count(*) FILTER (WHERE outcome_kind = 'done'),
                            count(*) FILTER (WHERE outcome_kind = 'unsupported'),
                            count(*) FILTER (WHERE outcome_kind NOT IN ('done', 'unsupported', 'interrupted')),
                            count(*) FILTER (WHERE outcome_kind = 'interrupted')
                     FROM subject
                     LEFT JOIN item ON item.run_id = subject.run_id AND item.subject = subject.number
                     LEFT JOIN attempt ON attempt.run_id = item.run_id AND attempt.ordinal = item.ordinal
                     WHERE subject.run_id = ?1 GROUP BY subject.number ORDER BY subject.number";
        let counts = rows(&self.connection, query, run, |row| {
            Ok(OutcomeCounts {
                done: row.get(0)?,
                unsupported: row.get(1)?,
                failed: row.get(2)?,
                interrupted: row.get(3)?,
            })
        });
        counts.map_err(self.failed("read a run from"))
    }

    /// When the attempts of a run began, in ascending order. Fails if the database cannot be read.
    pub fn attempt_starts(&self, run: RunId) -> Result<Vec<UnixMillis>, StoreError> {
        let query = "SELECT started_ms FROM attempt WHERE run_id = ?1 ORDER BY id";
        rows(&self.connection, query, run, |row| Ok(UnixMillis(row.get(0)?))).map_err(self.failed("read a run from"))
    }

    /// The figures of the chosen attempts that succeeded, by block. Reads no samples. Fails if the database cannot be read.
    pub fn cell_values(&self, run: RunId, chosen: &CellAttempts) -> Result<Vec<CellValue>, StoreError> {
        let query =
            "SELECT attempt.id, item.block, attempt.started_ms, intervals, window_ns, window_operations, measure.value
                     FROM item JOIN attempt ON attempt.run_id = item.run_id AND attempt.ordinal = item.ordinal
                     LEFT JOIN measure ON measure.attempt_id = attempt.id AND measure.number = 0
                     WHERE item.run_id = :run AND item.subject = :subject AND item.workload = :workload
                       AND item.variant = :variant AND item.mode = :mode AND item.tasks = :tasks
                       AND item.block >= :first_block AND item.block < :end_block
                       AND attempt.started_ms >= :begun AND attempt.started_ms < :until
                       AND attempt.final = 1 AND attempt.outcome_kind = 'done'
                     ORDER BY item.block, item.ordinal";
        let CellAttempts { subject, cell, blocks, begun } = chosen;
        let begun = begun.clone().unwrap_or(UnixMillis(i64::MIN)..UnixMillis(i64::MAX));
        let values = self.connection.prepare_cached(query).and_then(|mut statement| {
            let values = statement.query_map(
                named_params! {
                    ":run": run.0,
                    ":subject": subject.0,
                    ":workload": cell.case.workload,
                    ":variant": cell.case.variant,
                    ":mode": cell.case.mode.word(),
                    ":tasks": cell.tasks,
                    ":first_block": blocks.start,
                    ":end_block": blocks.end,
                    ":begun": begun.start.0,
                    ":until": begun.end.0,
                },
                |row| {
                    Ok(CellValue {
                        attempt: AttemptId(row.get(0)?),
                        block: row.get(1)?,
                        started: UnixMillis(row.get(2)?),
                        intervals: row.get(3)?,
                        window_ns: row.get::<_, Option<i64>>(4)?.map(|ns| ns as u64),
                        operations: row.get::<_, Option<i64>>(5)?.map(|count| count as u64),
                        measure: row.get(6)?,
                    })
                },
            )?;
            values.collect()
        });
        values.map_err(self.failed("read a run from"))
    }
}
