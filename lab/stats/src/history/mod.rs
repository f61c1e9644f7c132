//! Histories: what a run that measures commits does next, the results of such a run, and the series and steps of several runs together.
//!
//! [`next_of_record`] and [`results_of_record`] are functions of what is saved, so a run that was killed continues where it was, and gives the same
//! results each time.

mod record;
mod same;
mod series;
mod states;
mod steps;

#[cfg(test)]
mod example;

pub use record::{next_of_record, results_of_record};
pub use same::differing;
pub use series::{HistoryRun, series, series_of_run};
pub use states::{said_by_search, states};
pub use steps::StepSettings;
