//! Runs whose target counts: their plans, and the reading that is saved with each attempt. How a target counts is its own
//! affair; what the counts mean belongs to `stats`, finding names for them to `symbols`.

mod naming;
mod plan;
mod reading;

pub use naming::Naming;
pub use plan::{LensRequest, plan_kernel, plan_program};
pub(crate) use reading::{count, operations_of, save_reading};

/// What stands for the number of threads in a program's arguments.
pub const THREADS: &str = "{threads}";
