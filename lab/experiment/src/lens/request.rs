//! What is asked of runs under the lens.

use faultline_coherence::{Caches, CostTable};
use faultline_model::cell::TaskMode;
use faultline_model::record::RunId;
use faultline_model::subject::Commit;
use faultline_stats::lens::Budget;
use std::path::PathBuf;

/// The machine that is modelled, but for its number of CPUs.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Sockets, with the same share of CPUs each.
    pub sockets: u32,
    /// CPUs that share a last-level cache; none for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Name of a table of costs, or [`super::MEASURED`].
    pub costs: String,
    /// Bounds of each CPU's own cache; none for caches without.
    pub caches: Option<Caches>,
    /// How far a CPU may run ahead of the slowest soon after a transfer, in instructions.
    pub quantum: Option<u64>,
    /// The same for a thread that has had no transfer for long.
    pub private_quantum: Option<u64>,
}

impl Default for ModelRequest {
    fn default() -> Self {
        ModelRequest {
            sockets: 1,
            cpus_per_cache: None,
            costs: CostTable::DEFAULT.to_owned(),
            caches: None,
            quantum: None,
            private_quantum: None,
        }
    }
}

/// What a run is held to.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    /// Limits of figures.
    pub budgets: Vec<Budget>,
    /// A run than which there must not be more transfers.
    pub baseline: Option<RunId>,
}

/// What programs and kernels under the lens take alike.
#[derive(Debug, Clone)]
pub struct UnderLens {
    /// The machine that is modelled.
    pub model: ModelRequest,
    /// What the run is held to.
    pub gates: Gates,
    /// How often each cell runs.
    pub repeats: u32,
    /// Seed of the order; any where none is given.
    pub seed: Option<u64>,
    /// Operations that each task does; by workload where none are given, and for a program the whole run is one.
    pub operations: Option<u64>,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
    /// The commit that what is counted was built from, where it is known.
    pub commit: Option<Commit>,
}

/// What is asked of workloads in a guest under the lens.
#[derive(Debug, Clone)]
pub struct LensKernelRequest {
    /// Workloads as `name` or `name:variant`.
    pub workloads: Vec<String>,
    /// Numbers of CPUs, each of a machine of its own.
    pub cpus: Vec<u32>,
    /// The kernel's image; the newest in `/boot` where none is named.
    pub kernel: Option<PathBuf>,
    /// The same kernel as an ELF file with debugging information.
    pub vmlinux: Option<PathBuf>,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// Memory of each machine in MiB; by the number of CPUs where none is given.
    pub memory_mib: Option<u64>,
    /// What tasks are, for workloads that can be either.
    pub mode: Option<TaskMode>,
    /// `--size` for the workloads.
    pub size: Option<u64>,
    /// The rest.
    pub under: UnderLens,
}

/// What is asked of a program under the lens.
#[derive(Debug, Clone)]
pub struct LensProgramRequest {
    /// The program and its arguments, of which there is at least the program.
    pub argv: Vec<String>,
    /// Numbers of threads; the usual ones where none are given.
    pub threads: Option<Vec<u32>>,
    /// Count the whole run, whatever marks there are.
    pub whole: bool,
    /// The rest.
    pub under: UnderLens,
}
