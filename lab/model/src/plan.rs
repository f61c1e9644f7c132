//! What a run is going to do: its settings, and its items in the order in which they run.
//!
//! Making a plan (which workloads, what order) belongs to `runner`.

use crate::cell::Cell;
use crate::lens::settings::LensSettings;
use crate::setup::{LiveComparison, SideName};
use serde::{Deserialize, Serialize};

/// Which CPUs the tasks run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinPolicy {
    /// Each task on a CPU of its own, cores before hardware threads, one socket before the next.
    Each,
    /// The operating system's scheduler decides.
    None,
}

/// A real source tree to build, for `tree_build:given`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenTree {
    /// The tree's directory.
    pub directory: String,
    /// Words of the command; `{jobs}` stands for the number of tasks.
    pub command: Vec<String>,
}

/// What was asked for, saved with the run so that it can be resumed and read later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The suite's name, where one was chosen.
    pub suite: Option<String>,
    /// Numbers of tasks, ascending.
    pub cpus: Vec<u32>,
    /// Blocks: how often each cell is run.
    pub repeats: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Where tasks run.
    pub pin: PinPolicy,
    /// More tasks than CPUs were asked for on purpose.
    pub oversubscribe: bool,
    /// Time budget in milliseconds, where one was given: no item starts after it.
    pub budget_ms: Option<u64>,
    /// Time limit of each execution in milliseconds, where one was given.
    pub limit_ms: Option<u64>,
    /// `--size` for the workloads, where given.
    pub size: Option<u64>,
    /// Copies built at once by `tree_build`.
    pub copies: u32,
    /// A real tree to build.
    pub tree: Option<GivenTree>,
    /// The machine, as `--on` names it; none for this host.
    #[serde(default)]
    pub on: Option<String>,
    /// What was asked of the lens; none for a run that measures time.
    #[serde(default)]
    pub lens: Option<LensSettings>,
    /// The two sides of a live comparison; none for a run of one.
    #[serde(default)]
    pub comparison: Option<LiveComparison>,
}

/// How long an item's phases last, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Counted but not used for the rate.
    pub warmup_ms: u64,
    /// Region of interest.
    pub window_ms: u64,
    /// Length of one interval within either.
    pub interval_ms: u64,
}

impl Timing {
    /// Intervals in the region of interest: the samples that the item owes.
    pub fn intervals(&self) -> u64 {
        self.window_ms / self.interval_ms
    }
}

/// One execution of one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// Place in the order, from 0; names the item within its run.
    pub ordinal: u32,
    /// Block (repeat) it belongs to, from 0. Each block holds every cell once.
    pub block: u32,
    /// The side of a comparison that it belongs to; none in a run without sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideName>,
    /// What runs.
    pub cell: Cell,
    /// For how long; none for a workload that runs once.
    pub timing: Option<Timing>,
}
