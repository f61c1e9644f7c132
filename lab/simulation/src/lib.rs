//! Simulates experiments by seed. The product's own code plans, runs, saves, resumes and concludes, on a simulated target and
//! clock with injected faults.
//!
//! One seed is one experiment ([`simulate`]): a run or a live comparison, which is stopped, refused by its database or killed several times, and
//! resumed each time, while its workloads crash, hang and print garbage. The same seed always does the same. The invariants are checked
//! after each of the experiment's lives (`ledger`, `record`) and at its end (`ending`). A seed is also a lens run ([`simulate_lens`]), whose executions are
//! counted on several threads; what is counted follows from the seed. The product does not use this crate.

pub mod calm;
mod clock;
mod death;
mod ending;
mod fate;
mod fault;
mod files;
mod guest;
mod ledger;
mod lens_lives;
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
pub use lens_lives::{LensAccount, simulate_lens};
pub use lives::{Account, simulate};
pub use scenario::Difference;
