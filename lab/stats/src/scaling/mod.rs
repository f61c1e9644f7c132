//! Laws of scaling: what part of the work is serial, what keeping CPUs coherent costs, and where more CPUs stop to help.
//!
//! Methods stand in docs/METHODOLOGY.md, §14. Whether a measured curve scales is judged elsewhere, from the curve itself.

mod compare;
mod fit;
mod least_squares;
mod peak;
mod points;

pub use compare::compare;
pub use fit::{fit, scaling};
pub use points::Point;
