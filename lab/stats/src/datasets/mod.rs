//! Values with their places in time and history, as comparisons take them: from our own runs, and cut out of a longer history.
//!
//! Files of other tools are read elsewhere.

mod commit;
mod conditions;
mod record;

pub use commit::{CommitError, at_commit};
pub(crate) use record::boot;
pub(crate) use record::{Chosen, Coarse, MeasuredRun, Measurement, measurement};
pub use record::{dataset, of_subject, sides};
