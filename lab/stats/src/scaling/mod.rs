//! Scaling laws: which part of the work is serial, the cost of keeping CPUs coherent, and where more CPUs no longer help.
//!
//! docs/METHODOLOGY.md, §14, describes the methods. Whether a measured curve scales is decided elsewhere, from the curve itself.

mod compare;
mod fit;
mod least_squares;
mod peak;
mod points;

pub use compare::compare;
pub use fit::{fit, scaling};
pub use points::Point;
