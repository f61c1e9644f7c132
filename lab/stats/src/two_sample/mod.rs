//! Whether two sides differ: a test that keeps its level, the ratio with an interval, and what could have been seen.
//!
//! Draws at random for bootstrap intervals only, from the seed in the settings. How it is told belongs to `report`. Methods stand in
//! docs/METHODOLOGY.md, §13.

mod answer;
mod bootstrap;
mod cautions;
mod detectable;
mod holm;
mod interleaving;
mod means;
mod pairwise;
mod rank_test;
mod samples;
mod signed_rank;
mod suite;
mod u_distribution;
mod units;
pub(crate) mod welch;

pub(crate) use holm::holm;
pub use means::{geometric_mean, mean};
pub(crate) use rank_test::chance as rank_chance;
pub(crate) use samples::no_ratio;
pub use samples::{Boot, Conditions, Run, Samples, TwoSampleError, Workload};
pub(crate) use signed_rank::{can_decide as signs_can_decide, chance as sign_chance, shift as sign_shift};
pub use suite::{Settings, compare};
pub(crate) use units::{Pairing, Placed, units};
