//! The place of a step, by which it is named when it is searched or when something is said of it.

use faultline_experiment::Error;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::named_change::ChangePlace;

/// The place of a step. Fails if the series does not have its commits.
pub(crate) fn place(series: &HistorySeries, step: &HistoryStep) -> Result<ChangePlace, Error> {
    series.place_of(step).ok_or_else(|| {
        Error::failed("the history does not have the commits of its step", "`faultline history run` measures it again")
    })
}
