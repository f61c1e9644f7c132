//! `history mark`: a person says what a change of a history is.

use crate::place::place;
use faultline_experiment::{Error, Lab, stored};
use faultline_model::history::change::{ChangeEvent, ChangeState, PlacedEvent, Source};
use faultline_model::history::{HistorySeries, HistoryStep};

/// What is said of a change.
#[derive(Debug, Clone)]
pub struct Mark {
    /// What it is.
    pub state: ChangeState,
    /// Who says so.
    pub person: String,
    /// Why.
    pub reason: Option<String>,
}

/// Saves a mark of a step. Fails if the database cannot be written.
pub fn mark(series: &HistorySeries, step: &HistoryStep, mark: Mark, lab: &Lab<'_>) -> Result<(), Error> {
    let place = place(series, step)?;
    let source = Source::Person { name: mark.person };
    let event = ChangeEvent {
        at: lab.clock.now(),
        source,
        state: mark.state,
        is_inconclusive: false,
        reason: mark.reason,
        commits: Vec::new(),
    };
    stored::say_of_change(&series.name(), &PlacedEvent { place, event }, lab.places)
}
