//! Plans and runs workloads over a target, and saves each sample at once.
//!
//! A request becomes a plan (`plan`): every cell once per block, the cells of a block in seeded random order. A plan is run
//! item by item (`run`). Everything a workload does is a recorded outcome (`attempt`); only a journal that cannot save
//! ends the run early. Other crates save the samples and interpret them.

mod attempt;
mod clock;
mod comparison;
mod completion;
pub mod lens;
mod observer;
mod outcome;
mod pace;
mod partners;
mod plan;
mod planned;
mod request;
mod run;
#[cfg(test)]
mod scripted_target;
mod select;
mod set_at_end;
mod size;
mod suite;

pub use clock::{Clock, SystemClock};
pub use comparison::{ComparisonRequest, SideMachine, plan_comparison};
pub use completion::Completion;
pub use observer::{Observer, RunProgress, Stage};
pub use plan::{Plan, block_of_cell, block_of_commands, plan, timing_of_case};
pub use planned::{NoTarget, PlannedRun, SubjectTargets, Targets};
pub use request::{Request, RequestError};
pub use run::run;
pub use suite::Suite;
