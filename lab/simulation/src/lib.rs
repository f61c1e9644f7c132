//! Simulated experiments: the product's own code plans, runs, saves, resumes and concludes, on a
//! simulated target and clock with injected faults. The product does not use this crate.
//!
//! One seed is one experiment ([`simulate`]): a run, a live comparison, a check of the machine, a
//! search along commits, or a history. Its workloads crash, hang and print garbage, its commits do
//! not build, and it is stopped, refused by its database or killed several times, and resumed each
//! time. The same seed always does the same. Invariants are checked after each life (`ledger`,
//! `checks`) and at the end.
//!
//! A seed is also a lens run ([`simulate_lens`]), counted on several threads. Its counts follow
//! from the seed; the order in which its executions end does not.

mod checks;
mod disk;
mod fault;
mod guest;
mod history;
mod ledger;
mod lens_lives;
mod lives;
mod scenario;
mod target;
mod workload;
mod world;

pub use checks::{Answered, Searched};
pub use lens_lives::{LensAccount, simulate_lens};
pub use lives::{Account, calm_comparison, calm_search, simulate};
pub use scenario::Difference;
pub use world::SimulatedClock;
