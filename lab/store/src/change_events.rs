//! What people said of changes of histories, and of which changes somebody was notified. Lines are only added.

use crate::connection::{from_json, params};
use crate::write::json;
use crate::{Store, StoreError};
use faultline_model::history::change::PlacedEvent;
use faultline_model::named_change::{ChangePlace, SeriesName};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The word for what was said.
const SAID: &str = "said";

/// The word for a notification.
const NOTIFIED: &str = "notified";

impl Store {
    /// Adds what was said of a change of a series. Fails if the database cannot be written.
    pub fn save_change_event(&mut self, series: &SeriesName, said: &PlacedEvent) -> Result<(), StoreError> {
        self.save_of_change(series, SAID, said)
    }

    /// What was said of changes of a series, in the order in which it was saved. A series without conditions has what older versions saved. Fails if the database cannot be read, or if a newer version saved it.
    pub fn change_events(&self, series: &SeriesName) -> Result<Vec<PlacedEvent>, StoreError> {
        self.of_changes(series, SAID)
    }

    /// The number of the newest line that was added; 0 if there is none. Fails if the database cannot be read.
    pub fn newest_change_event(&self) -> Result<i64, StoreError> {
        let read = self.connection.rows("SELECT COALESCE(MAX(id), 0) FROM change_event", params![], |row| row.get(0));
        let newest: Vec<i64> = read.map_err(self.failed("read the states of changes in"))?;
        Ok(newest.first().copied().unwrap_or(0))
    }

    /// Adds that somebody was notified of a change of a series. Fails if the database cannot be written.
    pub fn save_notified(&mut self, series: &SeriesName, change: &ChangePlace) -> Result<(), StoreError> {
        self.save_of_change(series, NOTIFIED, change)
    }

    /// The changes of a series of which somebody was notified. Fails if the database cannot be read, or if a newer version saved it.
    pub fn notified(&self, series: &SeriesName) -> Result<Vec<ChangePlace>, StoreError> {
        self.of_changes(series, NOTIFIED)
    }

    fn save_of_change<T: Serialize>(&mut self, series: &SeriesName, kind: &str, value: &T) -> Result<(), StoreError> {
        self.write("save the state of a change in", |transaction| {
            let insert = "INSERT INTO change_event (subject, repository, tasks, measure, conditions, kind, json)
                          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let SeriesName { subject, repository, tasks, conditions, .. } = series;
            let of = params![subject, repository, *tasks, measure(series), conditions, kind, json(value)];
            transaction.execute(insert, of)?;
            Ok(())
        })
    }

    fn of_changes<T: DeserializeOwned>(&self, series: &SeriesName, kind: &str) -> Result<Vec<T>, StoreError> {
        let query = "SELECT json FROM change_event
                     WHERE subject = ?1 AND repository = ?2 AND tasks = ?3 AND measure = ?4 AND conditions = ?5 AND kind = ?6
                     ORDER BY id";
        let SeriesName { subject, repository, tasks, conditions, .. } = series;
        let of = params![subject, repository, *tasks, measure(series), conditions, kind];
        let read = self.connection.rows(query, of, |row| from_json(row, 0));
        read.map_err(self.failed("read the states of changes in"))
    }
}

/// The word for what a series measures.
fn measure(series: &SeriesName) -> &'static str {
    series.counted.map_or("time", |count| count.word())
}
