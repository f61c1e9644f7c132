//! What happens to an execution under the lens, and what is counted of it. It follows from the seed of the world and from what is executed, so it can be
//! computed again from what is saved.

use faultline_model::outcome::{GuestFailure, Outcome, Uncounted};
use faultline_model::plan::PlanItem;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The share of executions with a fault.
const FAULTS: f64 = 0.3;

/// How an execution ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its counts.
    Counted,
    /// By itself, with a status.
    Status,
    /// By a signal.
    Signal,
    /// Without a report.
    NoReport,
    /// With its guest.
    GuestFailed,
}

/// What happens to an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) end: End,
    /// How many transfers are counted until then.
    pub(crate) transfers: u64,
}

impl Fate {
    /// The status with which an execution ends by itself.
    pub(crate) const STATUS: i32 = 3;
    /// The signal.
    pub(crate) const SIGNAL: i32 = 11;
    /// The text of every failure.
    pub(crate) const TEXT: &'static str = "it was to be";
    /// How guests fail.
    pub(crate) const FAILURE: GuestFailure = GuestFailure::ALL[0];

    /// The fate of an execution. `seed`: that of the world.
    pub(crate) fn of(seed: u64, (workload, tasks): (&str, u32), item_seed: Option<u64>) -> Self {
        let name = workload.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let parts = [name, tasks.into(), item_seed.unwrap_or_default()];
        let mixed = parts.iter().fold(seed, |mixed, part| mixed.rotate_left(17).wrapping_mul(0x9e37_79b9) ^ part);
        let mut random = ChaCha8Rng::seed_from_u64(mixed);
        let ends = [End::Status, End::Signal, End::NoReport, End::GuestFailed];
        let end = match random.random_bool(FAULTS) {
            true => ends[random.random_range(0..ends.len())],
            false => End::Counted,
        };
        Fate { end, transfers: random.random_range(1..100_000) }
    }

    /// The fate of an item.
    pub(crate) fn of_item(seed: u64, item: &PlanItem) -> Self {
        Self::of(seed, (&item.cell.case.workload, item.cell.tasks), item.seed)
    }

    /// Whether this outcome must be recorded of it.
    pub(crate) fn is(self, outcome: &Outcome) -> bool {
        let text = Self::TEXT.to_owned();
        let expected = match self.end {
            End::Counted => Outcome::Done,
            End::Status => Outcome::Exited { status: Self::STATUS, stderr: text },
            End::Signal => Outcome::Crashed { signal: Self::SIGNAL, stderr: text },
            End::NoReport => Outcome::NotCounted { why: Uncounted::NoReport { problem: text } },
            End::GuestFailed => Outcome::GuestFailed { how: Self::FAILURE, text: text.clone(), console: text },
        };
        *outcome == expected
    }
}
