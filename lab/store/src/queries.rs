//! Answers about a run from its rows, without its samples: what is missing, and how many attempts failed.

use crate::connection::params;
use crate::load::item;
use crate::{Store, StoreError};
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
        self.connection.rows(query, params![run.0], item).map_err(self.failed("read a run from"))
    }

    /// The number of attempts of a run that ended, did not succeed, and are supported by the machine. Fails if the database cannot be read.
    pub fn failed_attempts(&self, run: RunId) -> Result<u32, StoreError> {
        let query = "SELECT count(*) FROM attempt
                     WHERE run_id = ?1 AND outcome_kind NOT IN ('done', 'unsupported', 'interrupted', 'connection_lost')";
        self.connection.row(query, params![run.0], |row| row.get(0)).map_err(self.failed("read a run from"))
    }
}
