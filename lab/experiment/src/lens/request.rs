//! Requests for lens runs.

use faultline_coherence::{Caches, CostTable};
use faultline_record::cell::TaskMode;
use faultline_record::lens::budget::Budget;
use faultline_record::lens::settings::Bounds;
use faultline_record::record::RunId;
use faultline_record::subject::Commit;
use faultline_targets::program_files::With;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The modelled machine, except for its number of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Sockets, each with the same number of CPUs.
    pub sockets: u32,
    /// CPUs that share a last-level cache; `None` for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Name of a table of costs, or [`super::MEASURED`].
    pub costs: String,
    /// Predict rates: model how long CPUs keep lines, and the costs of waking, interrupts, atomic
    /// operations and system calls.
    pub predicts: bool,
    /// Bounds of each CPU's own cache; `None` for caches without bounds.
    pub caches: Option<Caches>,
    /// Instructions that a CPU may be ahead of the slowest soon after a transfer.
    pub quantum: Option<u64>,
    /// Instructions that a CPU may be ahead of the slowest long after its last transfer.
    pub private_quantum: Option<u64>,
}

impl Default for ModelRequest {
    fn default() -> Self {
        ModelRequest {
            sockets: 1,
            cpus_per_cache: None,
            costs: CostTable::DEFAULT.to_owned(),
            predicts: false,
            caches: Some(Caches::DEFAULT),
            quantum: None,
            private_quantum: None,
        }
    }
}

/// The gates of a run.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    /// Limits of figures.
    pub budgets: Vec<Budget>,
    /// A baseline: the gate fails on more transfers than in this run.
    pub baseline: Option<RunId>,
}

/// The default seed of a lens run: fixed, so that runs have the same seeds.
pub const USUAL_SEED: u64 = 1;

/// Settings that lens runs of programs and of kernels share.
#[derive(Debug, Clone)]
pub struct UnderLens {
    /// The modelled machine.
    pub model: ModelRequest,
    /// The gates of the run.
    pub gates: Gates,
    /// Executions of each cell.
    pub repeats: u32,
    /// Seed of the order and of the first repeat's guests; each further repeat adds one.
    pub seed: u64,
    /// Operations of each task; the workload's default if `None`. The whole run of a program is one
    /// operation.
    pub operations: Option<u64>,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Maximum number of parallel executions, each in its own guest; as many as fit on this host if
    /// `None`.
    pub jobs: Option<NonZeroUsize>,
    /// Label of the run.
    pub label: Option<String>,
    /// The commit of the subject; `None` if unknown.
    pub commit: Option<Commit>,
}

/// The request for a lens run of workloads in a guest.
#[derive(Debug, Clone)]
pub struct LensKernelRequest {
    /// Workloads as `name` or `name:variant`.
    pub workloads: Vec<String>,
    /// Numbers of CPUs, each on its own machine.
    pub cpus: Vec<u32>,
    /// The kernel's image; the default one if `None`.
    pub kernel: Option<PathBuf>,
    /// The kernel as an ELF file with debugging information.
    pub vmlinux: Option<PathBuf>,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// Memory of each machine in MiB; depends on the number of CPUs if `None`.
    pub memory_mib: Option<u64>,
    /// Kind of the tasks, for workloads with a choice.
    pub mode: Option<TaskMode>,
    /// `--size` for the workloads.
    pub size: Option<u64>,
    /// The shared settings.
    pub under: UnderLens,
}

/// The request for a lens run of a machine of any kind.
#[derive(Debug, Clone)]
pub struct LensMachineRequest {
    /// Its kernel: anything that the emulator starts.
    pub kernel: PathBuf,
    /// Files for the kernel.
    pub modules: Vec<Module>,
    /// The words of the kernel's command line.
    pub parameters: Vec<String>,
    /// ELF files of the kernel and of its programs, for names.
    pub symbols: Vec<Symbols>,
    /// Numbers of CPUs, each on its own machine.
    pub cpus: Vec<u32>,
    /// Memory of each machine in MiB; depends on the number of CPUs if `None`.
    pub memory_mib: Option<u64>,
    /// The shared settings.
    pub under: UnderLens,
}

/// An ELF file, and its place in a machine's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    /// The file.
    pub file: PathBuf,
    /// Difference between addresses in memory and in the file; wraps at 2⁶⁴.
    pub offset: u64,
}

/// A file for a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The file.
    pub file: PathBuf,
    /// Its arguments; may be empty.
    pub arguments: String,
}

/// A guest for a program.
#[derive(Debug, Clone, Default)]
pub struct GuestRequest {
    /// Files in addition to what the program loads.
    pub with: Vec<With>,
    /// Environment variables of the program.
    pub environment: Vec<(String, String)>,
    /// Count the kernel too.
    pub kernel_too: bool,
    /// Name of the program whose processes are counted; all are if `None`.
    pub process: Option<String>,
    /// Bounds of the counted region. With bounds, marks are ignored.
    pub bounds: Bounds,
    /// Absolute directories with debug files, searched before the system's.
    pub debug_directories: Vec<PathBuf>,
    /// The kernel's image; the default one if `None`.
    pub kernel: Option<PathBuf>,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// Memory of each machine in MiB; depends on the number of CPUs and on the files if `None`.
    pub memory_mib: Option<u64>,
}

/// The request for a lens run of a program.
#[derive(Debug, Clone)]
pub struct LensProgramRequest {
    /// The program and its arguments; at least the program.
    pub argv: Vec<String>,
    /// Numbers of threads; the default ones if `None`.
    pub threads: Option<Vec<u32>>,
    /// Count the whole run, and ignore marks.
    pub whole: bool,
    /// The guest in which it runs.
    pub guest: GuestRequest,
    /// The shared settings.
    pub under: UnderLens,
}
