//! What a run's figures mean: estimates with intervals, speed-up, verdict, and warnings about what may make them lie.
//!
//! Pure: everything comes in as arguments, nothing is read from a clock, a file or the environment; what is drawn at random
//! (bootstrap intervals) comes from a seed. Methods and their sources stand in docs/METHODOLOGY.md. How a summary is shown belongs to
//! `report`.

pub mod changes;
pub mod comparison;
mod counters;
mod curve;
pub mod datasets;
mod disturbance;
pub mod drill;
pub mod fitness;
mod gather;
mod granule;
pub mod history;
mod interval;
pub mod lens;
mod linked_changes;
mod machine;
pub mod machines;
mod median;
mod method;
mod progress;
mod repeat;
pub mod scaling;
pub mod sequential;
mod shares;
mod side_figures;
mod speedup;
mod summarise;
pub mod thresholds;
pub mod timeline;
mod tried;
pub mod two_sample;
mod verdict;
mod warm_up;
mod warnings;

#[cfg(test)]
mod coverage_by_simulation;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod example;
#[cfg(test)]
mod whole_records;

pub use linked_changes::linked_changes;
pub use method::METHOD_VERSION;
pub use summarise::summarise;
