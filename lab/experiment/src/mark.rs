//! A person says what a change of a history is.

use crate::error::Error;
use crate::places::Places;
use crate::stored;
use faultline_model::history::change::{ChangeEvent, ChangeState, PlacedEvent, Source};
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::named_change::ChangePlace;
use faultline_model::time::UnixMillis;

/// What is said of a change.
#[derive(Debug, Clone)]
pub struct Mark {
    state: ChangeState,
    person: String,
    reason: Option<String>,
}

impl Mark {
    /// A change is in this state, as a person says, for this reason. A reason without a letter or digit is none. Fails if a change is ignored without a reason: later readers could not tell
    /// whether somebody looked at it.
    pub fn new(state: ChangeState, person: String, reason: Option<&str>) -> Result<Self, Error> {
        let reason =
            reason.map(str::trim).filter(|reason| reason.chars().any(char::is_alphanumeric)).map(str::to_owned);
        if state == ChangeState::Ignored && reason.is_none() {
            return Err(Error::usage("a change is ignored only for a reason", "say why it does not matter"));
        }
        Ok(Mark { state, person, reason })
    }
}

/// Saves a mark of a step, said at that time. Fails if the series does not have the step's commits, or if the database cannot be written.
pub fn mark(
    series: &HistorySeries,
    step: &HistoryStep,
    mark: Mark,
    at: UnixMillis,
    places: &Places,
) -> Result<(), Error> {
    let place = place_of(series, step)?;
    let source = Source::Person { name: mark.person };
    let event =
        ChangeEvent { at, source, state: mark.state, is_inconclusive: false, reason: mark.reason, commits: Vec::new() };
    stored::say_of_change(&series.name(), &PlacedEvent { place, event }, places)
}

/// The place of a step, by which it is named when it is searched or when something is said of it. Fails if the series does not have its commits.
pub fn place_of(series: &HistorySeries, step: &HistoryStep) -> Result<ChangePlace, Error> {
    series.place_of(step).ok_or_else(|| {
        Error::failed("the history does not have the commits of its step", "`faultline history run` measures it again")
    })
}
