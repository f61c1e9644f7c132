//! Runs whose target counts: their plans, and the reading that is saved with each attempt. The target decides how it counts,
//! `stats` interprets the counts, and `symbols` finds names for them.

mod held_back;
mod naming;
mod plan;
mod reading;
mod side_by_side;

pub use naming::{ImagesInGuest, Naming};
pub use plan::{
    LensRequest, block_of_kernels, block_of_programs, case_of_workload, plan_kernel, plan_machine, plan_program,
};
pub(crate) use reading::operations_of;
pub(crate) use side_by_side::run;

/// The placeholder for the number of threads in a program's arguments.
pub const THREADS: &str = "{threads}";
