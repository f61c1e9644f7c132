//! Steps in a series of measurements, with a stated false-positive rate.
//!
//! docs/METHODOLOGY.md, §15, describes the method. The caller, which knows the history, determines
//! the commits in a step's range and whether to measure between them.

mod check;
mod dataset;
mod detectable;
mod find;
mod found;
mod likelihood;
mod newest;
mod noise;
mod positions;
mod prune;
mod series;
mod split;
mod sums;
mod tree;

pub use dataset::changes_found;
pub(crate) use detectable::{SEARCHED_POINTS, detectable_of};
pub use find::{Settings, changes};
pub use found::*;
pub(crate) use prune::CALIBRATED;
pub(crate) use series::SHORTEST;
pub use series::{Observation, SeriesError};
