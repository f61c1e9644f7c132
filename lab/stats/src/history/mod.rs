//! Histories: what a run that measures commits does next, the results of such a run, and the series and steps of several runs together.
//!
//! [`next_of_record`] and [`results_of_record`] are functions of what is saved, so a run that was killed continues where it was, and gives the same
//! results each time.

mod bridge;
mod commits_part;
mod evidence;
mod executions;
mod host;
mod layouts;
mod newest;
mod outlook;
mod quirks;
mod random_layouts;
mod record;
mod run;
mod same;
mod scatter;
mod series;
mod states;
mod steps;
mod surroundings;

#[cfg(test)]
mod example;

pub use bridge::bridging;
pub use evidence::{Evidence, evidence};
pub use host::measuring_host;
pub use outlook::describe;
pub use record::{next_of_record, results_of_record};
pub use run::HistoryRun;
pub use same::{Eras, conditions, differing};
pub use series::{series, series_of_run};
pub use states::{said_by_search, states};
pub use steps::{StepSettings, steps_by};
pub use surroundings::{Surroundings, makes_quirk};
