//! Steps in a series of measurements, at a stated rate of false alarms.
//!
//! Methods stand in docs/METHODOLOGY.md, §15. Which commits lie in a step's range, and whether to measure between, belongs to whoever walks the
//! history.

mod check;
mod dataset;
mod find;
mod likelihood;
mod noise;
mod penalty;
mod positions;
mod prune;
mod series;
mod split;
mod sums;
mod tree;
mod window;

pub use dataset::changes_found;
pub use find::{Settings, changes};
pub use series::{Observation, SeriesError};
