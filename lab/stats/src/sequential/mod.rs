//! A live comparison that looks at its data as they come, and may end at each look, without more false alarms than it says.
//!
//! Methods stand in docs/METHODOLOGY.md, §16.

mod answers;
mod concluded;
mod course;
mod looks;

pub use answers::settled;
pub use concluded::{concluded, planned_looks};
pub use course::{is_hopeless, is_settled, spent_ms};
pub use looks::{last_look, looks};
