//! Settings of a lens run. The numbers of CPUs are among the run's other settings.

use crate::lens::budget::Budget;
use faultline_lens_format::{Caches, CostTimes, DelayTimes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of a lens run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LensSettings {
    /// Number of sockets of the machine.
    pub sockets: u32,
    /// Number of CPUs that share a cache; `None` for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Name of the table of costs.
    pub costs: String,
    /// Number of operations of each task, if given.
    pub operations_per_task: Option<u64>,
    /// Maximum lead of a CPU after a transfer, in clocks, if given.
    pub quantum: Option<u64>,
    /// Maximum lead of a CPU long after its last transfer, in clocks, if given.
    pub private_quantum: Option<u64>,
    /// Budgets of the run.
    pub budgets: Vec<Budget>,
    /// Data that a resume needs to count on an identical machine.
    pub again: Box<LensAgain>,
}

/// The counted subject and the files of the count. A resume finds these files and detects changes
/// in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LensAgain {
    /// The program, or the kernel's image; `None` if there are many programs, built from commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<SavedFile>,
    /// The lens's plugin.
    pub plugin: SavedFile,
    /// The kernel as an ELF file with debugging information, if given.
    pub vmlinux: Option<SavedFile>,
    /// Working directory of a program, because its arguments may depend on it; `None` for a kernel.
    pub directory: Option<String>,
    /// True if a program's whole run is counted, including the code outside marks.
    pub whole: bool,
    /// Memory of each machine in MiB, if given.
    pub memory_mib: Option<u64>,
    /// The costs at the start of the run; a measured table may have changed since.
    pub times: CostTimes,
    /// The delays, if rates are predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<DelaySettings>,
    /// Size of each CPU's own cache; `None` if unbounded.
    pub cache: Option<Caches>,
    /// The run used as baseline.
    pub baseline: Option<i64>,
    /// Settings of a program in a guest; `None` for kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<ProgramGuest>,
    /// Further files of a system that the emulator starts by itself; `None` for everything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineFiles>,
}

impl LensAgain {
    /// Settings with this plugin and these costs, and nothing optional.
    pub fn new(plugin: SavedFile, times: CostTimes) -> Self {
        LensAgain {
            subject: None,
            plugin,
            vmlinux: None,
            directory: None,
            whole: false,
            memory_mib: None,
            times,
            delays: None,
            cache: None,
            baseline: None,
            guest: None,
            machine: None,
        }
    }
}

/// Files of a system that the emulator starts by itself, besides its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFiles {
    /// Modules for the kernel: each file with its arguments.
    pub modules: Vec<(SavedFile, String)>,
    /// ELF files with the names of code and data.
    pub symbols: Vec<PlacedFile>,
}

/// An ELF file, and its place in a machine's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedFile {
    /// The file.
    #[serde(flatten)]
    pub file: SavedFile,
    /// Difference between addresses in memory and in the file; wraps at 2⁶⁴.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
}

fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

/// Settings of a program in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramGuest {
    /// The kernel's image.
    pub kernel: SavedFile,
    /// Further files: their paths on the host, and in the guest if those differ.
    pub with: Vec<(String, Option<String>)>,
    /// The program's environment.
    pub environment: Vec<(String, String)>,
    /// True if the kernel is counted too.
    pub kernel_too: bool,
    /// Name of the program whose processes are counted; all are if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Bounds of the counted region besides marks.
    #[serde(default, skip_serializing_if = "Bounds::are_none")]
    pub bounds: Bounds,
    /// Host directories with debug files, besides the system's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub debug_directories: Vec<String>,
    /// SHA-256 of all files, in hexadecimal; `None` if there are many programs, built from commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_sha256: Option<String>,
}

/// Bounds of the counted region of a program, besides its marks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// Function whose calls begin a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Function whose calls end the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Milliseconds of the guest's time from the program's start to the region's beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

impl Bounds {
    /// True without bounds.
    pub fn are_none(&self) -> bool {
        *self == Bounds::default()
    }
}

/// A file, and the hash of its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedFile {
    /// The file's absolute path.
    pub path: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// Times that only predictions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelaySettings {
    /// True if the times belong to the table of costs. Otherwise they are orders of magnitude.
    pub is_measured: bool,
    /// The times.
    pub times: DelayTimes,
    /// Precision of measured times, also of the costs; `None` if it was not saved with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
}

/// Quartiles of a measured time, in thousandths of its median.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quartiles {
    /// First quartile: at most 1000.
    pub low: u32,
    /// Third quartile: at least 1000.
    pub high: u32,
}

/// Precision and range of a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// Transfers: the widest of all distances, and of contended atomic operations.
    pub transfers: Quartiles,
    /// Atomic operations.
    pub atomics: Quartiles,
    /// Waking a CPU.
    pub wakes: Quartiles,
    /// Interrupts.
    pub interrupts: Quartiles,
    /// Entries into the kernel.
    pub entries: Quartiles,
    /// True if transfers between caches of a socket were measured.
    pub has_same_socket: bool,
    /// True if transfers between sockets were measured.
    pub has_other_socket: bool,
}
