//! What all requests share.

use crate::histories::Histories;
use crate::log::Log;
use crate::reading::Reader;
use faultline_experiment::Places;
use std::sync::Arc;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct State {
    /// Reads the database.
    pub(crate) reader: Reader,
    /// The histories in it.
    pub(crate) histories: Arc<Histories>,
}

impl State {
    pub(crate) fn new(places: Places, log: Log) -> Self {
        let reader = Reader::new(places, log);
        State { histories: Arc::new(Histories::new(reader.clone())), reader }
    }
}
