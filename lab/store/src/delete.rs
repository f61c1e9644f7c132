//! Deletes whole runs, at the user's request. Nothing else removes anything from a database.
//!
//! An empty row of the run remains and keeps its number from being used again.

use crate::connection::{Connection, Result, params};
use crate::{Store, StoreError};
use faultline_model::record::RunId;

/// Tables of attempts.
const OF_ATTEMPTS: [&str; 6] = ["sample", "note", "usage", "counter", "measure", "reading"];

/// Tables of a run, in an order in which no row refers to a deleted one.
const OF_RUN: [&str; 7] = ["attempt", "item", "session_facts", "session", "subject", "conclusion", "explained"];

impl Store {
    /// Deletes all of these runs, or none. Fails if one of them does not exist, or if the database cannot be written.
    pub fn delete_runs(&mut self, runs: &[RunId]) -> Result<(), StoreError> {
        for &run in runs {
            self.load_head(run)?;
        }
        self.write("delete runs from", |transaction| runs.iter().try_for_each(|&run| delete(transaction, run)))
    }
}

fn delete(transaction: &Connection, run: RunId) -> Result<()> {
    for table in OF_ATTEMPTS {
        let query = format!("DELETE FROM {table} WHERE attempt_id IN (SELECT id FROM attempt WHERE run_id = ?1)");
        transaction.execute(&query, params![run.0])?;
    }
    for table in OF_RUN {
        transaction.execute(&format!("DELETE FROM {table} WHERE run_id = ?1"), params![run.0])?;
    }
    transaction.execute(
        "UPDATE run SET label = NULL, settings = '{}', workloads = '[]', finished = 1, kind = 'deleted', suite = NULL,
                        cpus = '[]', machine = '' WHERE id = ?1",
        params![run.0],
    )?;
    Ok(())
}
