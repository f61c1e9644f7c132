//! At which commits of a line did a measure change? What to try and measure next, and what is found: both are functions of what is recorded.
//!
//! [`next`] reads no state of its own, so a search that was killed continues where it was, and [`concluded`] gives the same answer each time. Values are
//! compared within blocks (`levels`); a posterior over steps, given the levels, decides where to look (`posterior`, `gaps`, `pick`); each step is
//! measured once more by itself, with random layouts and across surroundings (`sides`), and its commit may be undone (`reverts`). Counts may depend on their
//! seed (`seeds`). Methods stand in docs/METHODOLOGY.md, §18.

mod concluded;
mod evidence;
mod gaps;
mod layouts;
mod levels;
mod line;
mod next;
mod part;
mod pick;
mod positive_definite;
mod posterior;
mod record;
mod recorded;
mod reverts;
mod samples;
mod seeds;
mod sides;

pub(crate) use concluded::DETECTABLE_DEVIATIONS;
pub(crate) use layouts::FIRST as FIRST_LAYOUTS;
pub(crate) use part::{LABEL_ERROR, Part, code_or_layout};
pub(crate) use posterior::{Point, step_chances};
pub(crate) use samples::{SampleLevel, are_same, for_zero, sample_levels};
pub(crate) use sides::sum_of_squares;

pub use concluded::concluded;
pub use next::next;
pub use record::{conclude_record, next_of_record};
pub use reverts::{RevertNext, next_revert};
