//! A search for the commits of a line at which a measure changed: the next work, and the
//! conclusions, both functions of the record.
//!
//! [`next`] has no state of its own, so a killed search continues where it was; [`concluded`] gives
//! the same answer each time. Values are compared within blocks (`levels`). A posterior over steps,
//! given the levels, decides the next position (`posterior`, `gaps`, `next`). Each step is measured
//! again alone, with random layouts and across environments (`sides`), and its commit may be undone
//! (`reverts`). Counts may depend on their seed (`line`). docs/METHODOLOGY.md, §18, describes the
//! methods.

mod concluded;
mod gaps;
pub mod gate;
mod layouts;
mod levels;
mod line;
mod next;
mod posterior;
mod record;
mod result;
mod reverts;
mod sides;

pub(crate) use concluded::DETECTABLE_DEVIATIONS;
pub(crate) use layouts::FIRST as FIRST_LAYOUTS;
pub(crate) use line::{SampleLevel, are_same, for_zero, sample_levels};
pub(crate) use posterior::{Point, step_chances};
pub(crate) use sides::{AgainstHalf, LABEL_ERROR, code_or_layout, sum_of_squares};

#[cfg(test)]
pub(crate) use record::tests::{searched as counted_search, timed as timed_search};

pub use concluded::concluded;
pub use next::next;
pub use record::{conclude_record, next_of_record};
pub use result::*;
