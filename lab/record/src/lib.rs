//! The data that the lab saves: plans, subjects, facts, samples, outcomes and lens counts.
//!
//! Plain data and pure functions over it: no file, clock or environment variable is read, and times
//! arrive as numbers. `stats` computes results from it, `store` keeps it, `report` shows the
//! results.

pub mod artefact;
pub mod bisect;
pub mod bounds;
pub mod capability;
pub mod cell;
pub mod change_event;
pub mod commit;
pub mod dataset;
pub mod describe;
pub mod direction;
pub mod execution;
pub mod explained;
pub mod facts;
pub mod failure;
pub mod forge;
pub mod job;
pub mod journal;
pub mod lens;
pub mod machine;
pub mod named_change;
pub mod outcome;
pub mod plan;
pub mod protocol;
pub mod quantity;
pub mod quirk;
pub mod recipe;
pub mod record;
pub mod relink;
pub mod role;
pub mod run_of_history;
pub mod setup;
pub mod subject;
pub mod time;
pub mod transcript;
