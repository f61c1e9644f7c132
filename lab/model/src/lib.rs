//! The types that the lab's crates share: what is planned, run, saved and shown.
//!
//! Plain data and pure functions over it. Nothing here reads a file, a clock or an environment variable; times come in
//! as numbers. How a figure is estimated belongs to `stats`, how it is kept to `store`, how it is shown to `report`.

pub mod advice;
pub mod artefact;
pub mod cell;
pub mod changes;
pub mod commit;
pub mod comparison;
pub mod count;
pub mod dataset;
pub mod describe;
pub mod direction;
pub mod drill;
pub mod estimate;
pub mod execution;
pub mod explained;
pub mod facts;
pub mod failure;
pub mod gate;
pub mod history;
pub mod imported;
pub mod job;
pub mod journal;
mod json;
pub mod lens;
pub mod line_host;
pub mod machine;
pub mod machine_facts;
pub mod named_change;
pub mod outcome;
pub mod plan;
pub mod protocol;
pub mod recipe;
pub mod record;
pub mod relink;
pub mod reverted;
pub mod role;
mod run_id;
pub mod run_of_history;
pub mod said;
pub mod scaling;
pub mod setup;
pub mod subject;
pub mod summary;
pub mod time;
pub mod timeline;
pub mod transcript;
pub mod unmatched;
pub mod verdict;
pub mod warning;
pub mod workload_comparison;
