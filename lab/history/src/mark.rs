//! `history mark`: a person says what a change of a history is.

pub use faultline_experiment::Mark;
use faultline_experiment::{Error, Lab};
use faultline_model::history::{HistorySeries, HistoryStep};

/// Saves a mark of a step. Fails if the series does not have the step's commits, or if the database cannot be written.
pub fn mark(series: &HistorySeries, step: &HistoryStep, mark: Mark, lab: &Lab<'_>) -> Result<(), Error> {
    faultline_experiment::mark(series, step, mark, lab.clock.now(), lab.places)
}
