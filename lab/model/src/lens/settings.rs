//! What was asked of the lens, saved with the run's other settings, which hold the numbers of CPUs.

use serde::{Deserialize, Serialize};

/// What was asked of the lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LensSettings {
    /// Sockets of the machine.
    pub sockets: u32,
    /// CPUs that share a cache; none for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Name of the table of costs.
    pub costs: String,
    /// Operations that each task does, where it was told.
    pub operations_per_task: Option<u64>,
    /// How far a CPU may run ahead after a transfer, in clocks, where it was given.
    pub quantum: Option<u64>,
    /// The same for a CPU that has had no transfer for long.
    pub private_quantum: Option<u64>,
    /// Budgets, as they were written.
    pub budgets: Vec<String>,
}
