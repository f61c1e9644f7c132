//! A live comparison with interim looks, which may end at each look without exceeding its stated
//! false-positive rate.
//!
//! docs/METHODOLOGY.md, §16, describes the methods.

mod answers;
mod boundaries;
mod concluded;
mod course;
mod looks;

pub use answers::settled;
pub use concluded::{concluded, planned_looks};
pub use course::{is_hopeless, is_settled, spent_ms};
pub use looks::{last_look, looks};
