//! Simulates experiments by seed. The product's own code plans, runs, saves, resumes and concludes, on a simulated target and
//! clock with injected faults.
//!
//! One seed is one experiment ([`simulate`]): a run, a live comparison, a check of the machine, a search along commits, or a history. It is stopped, refused by its
//! database or killed several times, and resumed each time, while its workloads crash, hang and print garbage, and its commits do not build. The same
//! seed always does the same. The invariants are checked after each of the experiment's lives (`ledger`, `record`) and at its end (`ending`, `searched`, `measured`).
//! A seed is also a lens run ([`simulate_lens`]), whose executions are counted on several threads: what is counted follows from the seed, the
//! order in which executions end does not. [`calm`] has experiments without events. The product does not use this crate.

pub mod calm;
mod clock;
mod commits;
mod death;
mod ending;
mod fate;
mod fault;
mod files;
mod guest;
mod history;
mod ledger;
mod lens_lives;
mod lives;
mod measured;
mod observer;
mod record;
mod refusal;
mod scenario;
mod script;
mod searched;
mod target;
mod workload;
mod world;

pub use clock::SimulatedClock;
pub use ending::Answered;
pub use lens_lives::{LensAccount, simulate_lens};
pub use lives::{Account, simulate};
pub use scenario::Difference;
pub use searched::Searched;
