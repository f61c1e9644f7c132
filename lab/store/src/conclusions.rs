//! Conclusions of finished runs, saved with the version of the method that made them.
//!
//! They can be computed again from the record at any time. Triggers of the database drop the conclusion of a run if its record changes
//! (`schema/0006_aggregates_and_conclusions.sql`).

use crate::connection::params;
use crate::write::json;
use crate::{Store, StoreError};
use faultline_model::comparison::{Comparison, Fitness};
use faultline_model::drill::Drill;
use faultline_model::history::HistoryResults;
use faultline_model::record::RunId;
use faultline_model::summary::RunSummary;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What can be concluded from a run.
pub trait Kept: Serialize + DeserializeOwned {
    /// The word for it in the database.
    const KIND: &'static str;
}

impl Kept for RunSummary {
    const KIND: &'static str = "figures";
}

impl Kept for Drill {
    const KIND: &'static str = "drill";
}

impl Kept for HistoryResults {
    const KIND: &'static str = "history";
}

impl Kept for Comparison {
    const KIND: &'static str = "comparison";
}

impl Kept for Fitness {
    const KIND: &'static str = "fitness";
}

impl Store {
    /// The conclusion of a run by that version of the method, if it is saved. A saved conclusion that can no longer be read counts as not saved. Fails if
    /// the database cannot be read.
    pub fn load_conclusion<T: Kept>(&self, run: RunId, method: u32) -> Result<Option<T>, StoreError> {
        let query = "SELECT json FROM conclusion WHERE run_id = ?1 AND kind = ?2 AND method = ?3";
        let text = self.connection.optional_row(query, params![run.0, T::KIND, method], |row| row.get::<String>(0));
        let text = text.map_err(self.failed("read a run from"))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Saves the conclusion of a run, and replaces that of another version. If the run is not finished, nothing is saved. Fails if the database cannot be
    /// written. It does not wait for another process that is writing, but fails then too.
    pub fn save_conclusion<T: Kept>(&mut self, run: RunId, method: u32, conclusion: &T) -> Result<(), StoreError> {
        let saved = self.connection.without_waiting(|connection| {
            connection.execute(
                "INSERT INTO conclusion (run_id, kind, method, json)
                 SELECT id, ?2, ?3, ?4 FROM run WHERE id = ?1 AND finished = 1
                 ON CONFLICT (run_id, kind) DO UPDATE SET method = excluded.method, json = excluded.json",
                params![run.0, T::KIND, method, json(conclusion)],
            )
        });
        saved.map(drop).map_err(self.failed("save a conclusion in"))
    }
}
