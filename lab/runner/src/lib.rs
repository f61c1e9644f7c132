//! Plans and executes workloads on a target, and saves each sample at once.
//!
//! A request becomes a plan (`plan`): every cell once per block, the cells of a block in seeded
//! random order. A plan is executed item by item (`run`). Every action of a workload is a recorded
//! outcome (`attempt`); only a journal that cannot save ends the run early. Other crates save the
//! samples and interpret them.

mod attempt;
mod clock;
mod comparison;
pub mod lens;
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
mod suite;
mod unsaved;

pub use clock::{Clock, SystemClock};
pub use comparison::{ComparisonRequest, SideMachine, plan_comparison};
pub use plan::{Plan, block_of_cell, block_of_commands, further_blocks, plan, timing_of_case};
pub use planned::{Completion, NoTarget, Observer, PlannedRun, RunProgress, Stage, SubjectTargets, Targets};
pub use request::{Request, RequestError};
pub use run::run;
pub use suite::{Suite, given_command};
pub use unsaved::{set_up, warm_up};
