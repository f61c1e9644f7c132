//! Comparison of two sides: pairs of series, answers, and other differences between the sides.
//!
//! The input is plain datasets, two runs, or a live comparison. The answers come from `compare`,
//! scaling laws from `scaling`. docs/METHODOLOGY.md, §13, describes the methods.

mod bytes;
mod counters;
mod cpu_time;
mod datasets;
mod further_figures;
mod paired;
mod pairs;
mod recorded;
mod result;
mod runs;
mod scaling;
mod untested;

pub use datasets::compare_datasets;
pub use result::*;
pub(crate) use runs::sides_answers;
pub use runs::{compare_runs, compare_sides, compare_subjects};

use crate::two_sample::{self, TwoSampleError};
use crate::unmatched::Unmatched;
use faultline_record::direction::Direction;
use faultline_record::quantity::Quantity;

/// Settings of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// Level, seed and number of bootstrap draws.
    pub two_sample: two_sample::Settings,
    /// Better direction, if neither side states it.
    pub direction: Option<Direction>,
    /// The compared quantity of runs. A live comparison has its own.
    pub quantity: Quantity,
}

/// Reason why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ComparisonError {
    /// No series of one side matches one of the other.
    #[error("the sides have nothing in common that can be compared")]
    NothingInCommon {
        /// The series, and why they are not compared.
        unmatched: Vec<Unmatched>,
    },
    /// A live comparison has no complete block yet.
    #[error("the sides have nothing in common that can be compared: no block is complete")]
    NoWholeBlock,
    /// The run is not a comparison.
    #[error("run {0} is not a comparison: it has no sides")]
    NoSides(i64),
    /// The test rejects its input.
    #[error(transparent)]
    Compare(#[from] TwoSampleError),
}
