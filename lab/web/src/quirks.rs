//! Quirks that only a `faultline.toml` declares. They are not in the database, so a front end that reads the file passes them.

use faultline_model::history::quirk::DeclaredQuirk;
use std::collections::BTreeMap;

/// The declared quirks of subjects.
#[derive(Debug, Clone, Default)]
pub struct DeclaredQuirks(BTreeMap<(String, String), Vec<DeclaredQuirk>>);

impl DeclaredQuirks {
    /// Adds those of a subject. `repository`: the directory, as it is saved with runs.
    pub fn add(&mut self, subject: String, repository: String, quirks: Vec<DeclaredQuirk>) {
        self.0.insert((subject, repository), quirks);
    }

    /// Those of a subject.
    pub(crate) fn of(&self, subject: &str, repository: &str) -> &[DeclaredQuirk] {
        self.0.get(&(subject.to_owned(), repository.to_owned())).map_or(&[], Vec::as_slice)
    }
}
