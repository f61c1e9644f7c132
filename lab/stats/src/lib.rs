//! Statistics of a run: estimates with intervals, speed-up, verdicts, and warnings about misleading
//! figures.
//!
//! Pure: all input comes as arguments; nothing reads a clock, a file or the environment. Random
//! numbers (bootstrap intervals) come from a seed. docs/METHODOLOGY.md describes the methods and
//! their sources. The `report` crate presents the results.

pub mod advice;
pub mod bisect;
pub mod changes;
pub mod ci;
pub mod claims;
pub mod command_figures;
pub mod commit_runs;
pub mod comparison;
mod counters;
mod curve;
pub mod datasets;
mod disturbance;
pub mod estimate;
mod figures;
pub mod fitness;
pub mod gate;
mod gather;
mod granule;
pub mod history;
mod json;
mod judge;
pub mod lens;
mod linked_changes;
pub mod machine;
pub mod machine_facts;
pub mod machines;
pub mod mean_load;
mod median;
mod method;
mod progress;
mod quantity_choice;
mod repeat;
pub mod said;
pub mod scaling;
pub mod sequential;
mod shares;
mod side_figures;
mod speedup;
mod summarise;
pub mod summary;
pub mod thresholds;
pub mod timeline;
pub mod two_sample;
pub mod unmatched;
pub mod verdict;
mod warm_up;
pub mod warnings;
pub mod workload_comparison;

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
pub use quantity_choice::quantity_choice;
pub use summarise::summarise;
