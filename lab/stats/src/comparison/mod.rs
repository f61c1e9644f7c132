//! Two sides with all that is shown of them: which series belong together, the answers, and what else differs.
//!
//! From plain datasets, from two runs, or from a live comparison. The answers are `compare`'s, laws of scaling those of `scaling`. Methods stand in
//! docs/METHODOLOGY.md, §13.

mod bytes;
mod counters;
mod datasets;
mod further_figures;
mod paired;
mod pairs;
mod recorded;
mod runs;
mod scaling;
mod untested;

pub use datasets::compare_datasets;
pub(crate) use runs::sides_answers;
pub use runs::{compare_runs, compare_sides, compare_subjects};

use crate::two_sample::{self, TwoSampleError};
use faultline_model::direction::Direction;
use faultline_model::unmatched::Unmatched;

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// Level, seed and draws of the tests.
    pub two_sample: two_sample::Settings,
    /// Which way is better, where neither side says.
    pub direction: Option<Direction>,
}

/// Why two sides can't be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ComparisonError {
    /// No series of one side goes with one of the other.
    #[error("the sides have nothing in common that can be compared")]
    NothingInCommon {
        /// What there is, and why it isn't compared.
        unmatched: Vec<Unmatched>,
    },
    /// A live comparison has no whole block yet.
    #[error("the sides have nothing in common that can be compared: no block is complete")]
    NoWholeBlock,
    /// The run has no sides.
    #[error("run {0} is no comparison: it has no sides")]
    NoSides(i64),
    /// The comparison itself refuses.
    #[error(transparent)]
    Compare(#[from] TwoSampleError),
}
