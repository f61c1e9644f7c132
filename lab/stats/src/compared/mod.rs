//! Two sides with all that is shown of them: which series belong together, the answers, and what else differs.
//!
//! From plain datasets, from two runs, or from a live comparison. The answers are `compare`'s, laws of scaling those of `scaling`. Methods stand in
//! docs/METHODOLOGY.md, §13.

mod bytes;
mod counters;
mod datasets;
mod details;
mod error;
mod facts;
mod pairs;
mod runs;
mod scaling;
mod units;

pub use datasets::compared;
pub use error::ComparedError;
pub(crate) use facts::lasting_differences;
pub(crate) use runs::sides_suite;
pub use runs::{compared_runs, compared_sides};

use crate::compare;
use faultline_model::direction::Direction;

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// Level, seed and draws.
    pub compare: compare::Settings,
    /// Which way is better, where neither side says.
    pub direction: Option<Direction>,
}
