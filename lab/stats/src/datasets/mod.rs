//! Values with their places in time and history, as comparisons take them: from our own runs, and cut out of a longer history.
//!
//! Files of other tools are read elsewhere.

mod boot;
mod commit;
mod record;
mod values;

pub use commit::{CommitError, at_commit};
pub(crate) use record::{Chosen, MeasuredRun, Measurement, measurement};
pub use record::{dataset, sides};
pub(crate) use values::Coarse;
