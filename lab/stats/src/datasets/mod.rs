//! Values with their times and places in a history, as input for comparisons: from our own runs, or
//! selected from a longer history.
//!
//! The `exchange` crate reads the files of other tools.

mod commit;
mod conditions;
mod record;

pub use commit::{CommitError, at_commit};
pub(crate) use record::boot;
pub(crate) use record::{Chosen, Coarse, MeasuredRun, Measurement, compared_quantity, measurement};
pub use record::{dataset, of_subject, sides};
