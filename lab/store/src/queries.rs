//! Answers about a run from its rows, without its samples: what is missing, how attempts ended.

use crate::load::{item, rows};
use crate::{Store, StoreError};
use faultline_model::outcome::OutcomeCounts;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunId;

impl Store {
    /// The items of a run that have not ended and are not skipped, in the order of the plan. Fails if the database cannot be read.
    pub fn missing_items(&self, run: RunId) -> Result<Vec<PlanItem>, StoreError> {
        let query = "SELECT ordinal, block, workload, variant, mode, tasks, warmup_ms, window_ms, interval_ms, subject, seed
                     FROM item
                     WHERE run_id = ?1 AND skipped = 0 AND NOT EXISTS (
                         SELECT 1 FROM attempt WHERE attempt.run_id = item.run_id AND attempt.ordinal = item.ordinal AND final = 1
                     )
                     ORDER BY ordinal";
        rows(&self.connection, query, [run.0], item).map_err(self.failed("read a run from"))
    }

    /// How the attempts of a run ended: one entry for each subject, even without attempts. Fails if the database cannot be read.
    pub fn outcome_counts(&self, run: RunId) -> Result<Vec<OutcomeCounts>, StoreError> {
        // From attempts to items, which are found by their ordinals. No index leads from an item to all of its attempts.
        let query = "WITH ended AS (
                         SELECT item.subject AS subject,
                                count(*) FILTER (WHERE outcome_kind = 'done') AS done,
                                count(*) FILTER (WHERE outcome_kind = 'unsupported') AS unsupported,
                                count(*) FILTER (WHERE outcome_kind NOT IN ('done', 'unsupported', 'interrupted')) AS failed,
                                count(*) FILTER (WHERE outcome_kind = 'interrupted') AS interrupted
                         FROM attempt CROSS JOIN item ON item.run_id = attempt.run_id AND item.ordinal = attempt.ordinal
                         WHERE attempt.run_id = ?1 GROUP BY item.subject
                     )
                     SELECT coalesce(done, 0), coalesce(unsupported, 0), coalesce(failed, 0), coalesce(interrupted, 0)
                     FROM subject LEFT JOIN ended ON ended.subject = subject.number
                     WHERE subject.run_id = ?1 ORDER BY subject.number";
        let counts = rows(&self.connection, query, [run.0], |row| {
            Ok(OutcomeCounts {
                done: row.get(0)?,
                unsupported: row.get(1)?,
                failed: row.get(2)?,
                interrupted: row.get(3)?,
            })
        });
        counts.map_err(self.failed("read a run from"))
    }
}
