//! The meaning of the lens's counts: figures per operation, how they grow with CPUs, what differs between two runs, and gates.
//!
//! docs/METHODOLOGY.md, §12, describes the methods and limits.

mod baseline;
mod budget;
mod callers;
mod cells;
mod compare;
#[cfg(test)]
pub(crate) mod example;
mod figures;
mod growth;
mod key;
mod layout_rows;
mod seeds;
mod spread;
mod summary;
mod surroundings;
mod trust;
mod type_view;
mod types;

pub use baseline::{Tolerance, against};
pub use budget::check;
pub use cells::has_counts;
pub(crate) use cells::overlap;
pub use compare::{compare, compare_runs};
pub(crate) use summary::summary;
pub use types::{TypesError, types};
