//! Deletes whole runs, at the user's request. Nothing else removes anything from a database.
//!
//! An empty row of the run remains and keeps its number from being used again.

use crate::connection::{Connection, Result, params};
use crate::lock::hold_run_in;
use crate::server::Held;
use crate::{Store, StoreError};
use faultline_model::record::RunId;

/// Tables of attempts.
const OF_ATTEMPTS: [&str; 7] = ["sample", "note", "usage", "counter", "measure", "reading", "console"];

/// Tables of a run, in an order in which no row refers to a deleted one.
const OF_RUN: [&str; 7] = ["attempt", "item", "session_facts", "session", "subject", "conclusion", "explained"];

impl Store {
    /// Deletes all of these runs, or none. Fails if one of them does not exist, or is measured on another machine, or if the database cannot be written.
    pub fn delete_runs(&mut self, runs: &[RunId]) -> Result<(), StoreError> {
        for &run in runs {
            self.load_head(run)?;
        }
        let in_use = self.write("delete runs from", |transaction| {
            for &run in runs {
                if let Held::ByOther(holder) = hold_run_in(transaction, run)? {
                    return Ok(Some((run, holder)));
                }
            }
            runs.iter().try_for_each(|&run| delete(transaction, run)).map(|()| None)
        })?;
        in_use.map_or(Ok(()), |(run, holder)| Err(StoreError::run_is_measured(run, &holder)))
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
