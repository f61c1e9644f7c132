//! Datasets: figures of other tools, saved under a name.

use crate::connection::{from_json, json, params};
use crate::{Store, StoreError};
use faultline_record::dataset::{Dataset, ImportedLine};
use faultline_record::time::UnixMillis;

impl Store {
    /// Saves a dataset under a name, which from now on refers to it; older ones remain. Fails if
    /// the database cannot be written.
    pub fn save_dataset(
        &mut self,
        name: &str,
        source: &str,
        imported: UnixMillis,
        dataset: &Dataset,
    ) -> Result<(), StoreError> {
        self.write("save the figures in", |transaction| {
            let points: usize = dataset.series.iter().map(|series| series.points.len()).sum();
            transaction.execute(
                "INSERT INTO dataset (name, source, imported_ms, json, series, points) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![name, source, imported.0, json(dataset), dataset.series.len() as i64, points as i64],
            )?;
            Ok(())
        })
    }

    /// The newest dataset with this name, if there is one. Fails if the database cannot be read.
    pub fn load_dataset(&self, name: &str) -> Result<Option<Dataset>, StoreError> {
        let query = "SELECT json FROM dataset WHERE name = ?1 ORDER BY id DESC LIMIT 1";
        let loaded = self.connection.optional_row(query, params![name], |row| from_json(row, 0));
        loaded.map_err(self.failed("read the figures in"))
    }

    /// The newest dataset of each name, newest first, without its figures. Fails if the database
    /// cannot be read.
    pub fn list_datasets(&self) -> Result<Vec<ImportedLine>, StoreError> {
        let query = "SELECT name, source, imported_ms, series, points FROM dataset
                     WHERE id IN (SELECT max(id) FROM dataset GROUP BY name) ORDER BY id DESC";
        let lines = self.connection.rows(query, params![], |row| {
            Ok(ImportedLine {
                name: row.get(0)?,
                source: row.get(1)?,
                imported: UnixMillis(row.get(2)?),
                series: row.get(3)?,
                points: row.get(4)?,
            })
        });
        lines.map_err(self.failed("read the figures in"))
    }
}
