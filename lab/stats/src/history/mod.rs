//! Histories: the next work of a run that measures commits, its results, and the series and steps
//! of several runs.
//!
//! [`next_of_record`] and [`results_of_record`] are functions of the saved record, so a killed run
//! continues where it was, with the same results each time.

mod causes;
mod change;
mod commits_part;
mod environment;
mod executions;
pub mod gate;
mod layout_part;
mod outlook;
mod prospect;
mod quirks;
mod record;
mod result;
mod runs;
mod scatter;
mod series;
mod states;
mod steps;
mod suspected;

#[cfg(test)]
mod example;

pub use causes::*;
pub use change::*;
pub use environment::{Environment, makes_quirk};
pub use outlook::describe;
pub use prospect::Prospect;
pub use quirks::bridging;
pub use record::{next_of_record, results_of_record};
pub use result::*;
pub use runs::{HistoryRun, conditions, differing, measuring_host};
pub use scatter::{SeriesEvidence, evidence};
pub use series::{series, series_of_run};
pub use states::{mark_of_search, states};
pub use steps::{StepSettings, steps_by};
pub use suspected::{Suspected, suspected, suspicion};
