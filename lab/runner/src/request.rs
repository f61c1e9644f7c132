//! A user's request, before it is checked against the machine and its workloads.

use faultline_model::cell::TaskMode;
use faultline_model::plan::{GivenTree, PinPolicy};

use crate::Suite;

/// A request for a run. The plan decides everything that is `None`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A suite; its timing also applies to workloads that are chosen by name.
    pub suite: Option<Suite>,
    /// Workloads as `name` or `name:variant`; empty for the whole suite.
    pub workloads: Vec<String>,
    /// Numbers of tasks.
    pub cpus: Option<Vec<u32>>,
    /// Blocks.
    pub repeats: Option<u32>,
    /// Time budget in milliseconds.
    pub budget_ms: Option<u64>,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Warm-up in milliseconds.
    pub warmup_ms: Option<u64>,
    /// Window in milliseconds.
    pub window_ms: Option<u64>,
    /// Interval in milliseconds.
    pub interval_ms: Option<u64>,
    /// Where tasks run.
    pub pin: Option<PinPolicy>,
    /// What a task is, for workloads that can be either.
    pub mode: Option<TaskMode>,
    /// More tasks than CPUs are allowed.
    pub oversubscribe: bool,
    /// `--size` for the workloads.
    pub size: Option<u64>,
    /// Copies built at once by `tree_build`; 0 means one.
    pub copies: u32,
    /// The sides of a comparison provide a command to run.
    pub command_given: bool,
    /// A real tree to build.
    pub tree: Option<GivenTree>,
    /// Memory of the machine in bytes, if it is known.
    pub memory_bytes: Option<u64>,
    /// Time of each execution there in addition to its own, in milliseconds: a boot, if there is one.
    pub boot_ms: u64,
}

/// A request that cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct RequestError {
    /// One line for people.
    pub problem: String,
    /// What to ask for instead.
    pub hint: String,
}

impl RequestError {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        RequestError { problem: problem.into(), hint: hint.into() }
    }
}
