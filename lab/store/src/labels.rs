//! Finds a run by its label.

use crate::{Store, StoreError};
use faultline_model::record::RunId;

impl Store {
    /// The newest run with that label, or with the one label that is a commit beginning so; none if there is none.
    pub fn run_labelled(&self, label: &str) -> Result<Option<RunId>, StoreError> {
        let failed = self.failed("read the runs in");
        let newest = |label: &str| {
            let query = "SELECT max(id) FROM run WHERE label = ?1";
            self.connection.query_row(query, [label], |row| row.get::<_, Option<i64>>(0)).map_err(&failed)
        };
        if let Some(id) = newest(label)? {
            return Ok(Some(RunId(id)));
        }
        if !is_commit(label) {
            return Ok(None);
        }
        let query = "SELECT DISTINCT label FROM run WHERE substr(label, 1, length(?1)) = ?1";
        let labels: Vec<String> = self
            .connection
            .prepare(query)
            .and_then(|mut statement| statement.query_map([label], |row| row.get(0))?.collect())
            .map_err(&failed)?;
        let commits: Vec<&String> = labels.iter().filter(|label| is_commit(label)).collect();
        match commits.as_slice() {
            [] => Ok(None),
            [one] => Ok(newest(one)?.map(RunId)),
            [one, other, ..] => Err(StoreError::ambiguous(label, one, other)),
        }
    }
}

/// Letters of a commit that git shows at least, and digits as it writes them.
const FEWEST_COMMIT_DIGITS: usize = 7;

fn is_commit(label: &str) -> bool {
    label.len() >= FEWEST_COMMIT_DIGITS && label.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}
