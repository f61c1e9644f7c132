//! Scaling laws: the serial share of the work, the cost of coherence between CPUs, and the number
//! of CPUs beyond which throughput falls.
//!
//! docs/METHODOLOGY.md, §14, describes the methods. `judge` decides from the curve itself whether
//! it scales.

mod compare;
mod fit;
mod least_squares;
mod peak;
mod points;
mod result;

pub use compare::compare;
pub use fit::{fit, scaling};
pub use points::Point;
pub use result::*;
