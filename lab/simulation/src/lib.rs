//! Simulates experiments by seed: the product's own planning, running, saving, resuming and concluding, on a target and a clock of the tests'
//! own, with injected faults.
//!
//! One seed is one experiment ([`simulate`]): a run or a live comparison, which is stopped, refused by its database or killed several times and
//! resumed each time, while its workloads crash, hang and print rubbish. Whatever a seed does, it does again. What has to hold is checked
//! after each of the experiment's lives (`ledger`, `record`) and at its end (`ending`). Nothing of the product uses this crate.

mod clock;
mod death;
mod ending;
mod fault;
mod ledger;
mod lives;
mod observer;
mod record;
mod refusal;
mod scenario;
mod script;
mod target;
mod workload;
mod world;

pub use clock::SimulatedClock;
pub use ending::Answered;
pub use lives::{Account, simulate};
pub use scenario::Difference;
