//! Comparison of two sides: a test with a controlled false-positive rate, the ratio with an
//! interval, and the smallest detectable difference.
//!
//! Random numbers are drawn only for bootstrap intervals, from the seed in the settings.
//! docs/METHODOLOGY.md, §13, describes the methods.

mod answer;
mod bootstrap;
mod brunner_munzel;
mod cautions;
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
