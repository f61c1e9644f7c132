//! What all requests share.

use crate::histories::Histories;
use crate::log::Log;
use crate::quirks::DeclaredQuirks;
use crate::reading::Reader;
use crate::thresholds::Thresholds;
use faultline_experiment::Places;
use std::sync::Arc;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct State {
    /// Reads the database.
    pub(crate) reader: Reader,
    /// The histories in it.
    pub(crate) histories: Arc<Histories>,
    /// Steps by other thresholds.
    pub(crate) thresholds: Thresholds,
    /// Whether readers may set states of changes: they have a token.
    pub(crate) may_mark: bool,
}

impl State {
    pub(crate) fn new(places: Places, log: Log, declared: DeclaredQuirks, may_mark: bool) -> Self {
        let reader = Reader::new(places, log);
        State {
            histories: Arc::new(Histories::new(reader.clone(), declared)),
            thresholds: Thresholds::default(),
            reader,
            may_mark,
        }
    }
}
