//! Analysis of the lens's counts: figures per operation, growth with CPUs, differences between two
//! runs, and gates.
//!
//! docs/METHODOLOGY.md, §12, describes the methods and limits.

mod baseline;
mod budget;
mod by_type;
mod callers;
mod cells;
pub mod code_site;
mod compare;
pub mod comparison;
mod environment;
#[cfg(test)]
pub(crate) mod example;
mod figures;
pub mod gate;
mod growth;
pub mod key;
mod layout_rows;
mod limit;
mod proposal;
mod seeds;
mod spread;
mod summarise;
pub mod summary;
mod trust;
mod type_view;
pub mod types;

pub use baseline::{Tolerance, against};
pub use budget::check;
pub use by_type::{TypesError, types};
pub use cells::has_counts;
pub(crate) use cells::overlap;
pub use compare::{compare, compare_runs};
pub(crate) use summarise::summary;
