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
    /// What a resume needs to count on the same machine; none in runs of versions that did not keep it, which are not resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<LensAgain>>,
}

/// What was counted and with what, so that it can be found again, and told from what has changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LensAgain {
    /// The program, or the kernel's image.
    pub subject: SavedFile,
    /// The lens's plugin.
    pub plugin: SavedFile,
    /// The kernel as an ELF file with debugging information, where one was named.
    pub vmlinux: Option<SavedFile>,
    /// Directory in which a program runs, which its arguments may rest on; none of a kernel.
    pub directory: Option<String>,
    /// Whether all of a program's run is counted, not only what lies between marks.
    pub whole: bool,
    /// Memory of each machine in MiB, where it was told.
    pub memory_mib: Option<u64>,
    /// The table of costs as it was: a measured one may have changed.
    pub times: CostTimes,
    /// Bounds of each CPU's own cache; none for caches without.
    pub cache: Option<CacheBounds>,
    /// The run that it is held against.
    pub baseline: Option<i64>,
}

/// A file, and what was in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    /// Its path, absolute.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Times of a table of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostTimes {
    /// An instruction, in picoseconds.
    pub instruction_ps: u32,
    /// A transfer from a CPU that shares the last-level cache, in nanoseconds.
    pub same_cache_ns: u32,
    /// From another cache of the same socket.
    pub same_socket_ns: u32,
    /// From another socket.
    pub other_socket_ns: u32,
    /// A line from memory, in nanoseconds.
    pub memory_ns: u32,
}

/// Bounds of a CPU's own cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBounds {
    /// Lines that it holds.
    pub lines: u32,
    /// Lines of a set.
    pub ways: u32,
}
