//! Settings of a lens run, saved with the run's other settings, which hold the numbers of CPUs.

use crate::lens::budget::Budget;
use serde::{Deserialize, Serialize};

/// Settings of a lens run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LensSettings {
    /// Sockets of the machine.
    pub sockets: u32,
    /// CPUs that share a cache; `None` for all of a socket.
    pub cpus_per_cache: Option<u32>,
    /// Name of the table of costs.
    pub costs: String,
    /// Operations of each task, if given.
    pub operations_per_task: Option<u64>,
    /// How far a CPU may run ahead after a transfer, in clocks, if given.
    pub quantum: Option<u64>,
    /// The same for a CPU whose last transfer is long ago.
    pub private_quantum: Option<u64>,
    /// Budgets.
    pub budgets: Vec<Budget>,
    /// What a resume needs to count on the same machine; `None` in runs of older versions, which cannot be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<LensAgain>>,
}

/// What was counted and with which files, so that a resume finds them and detects changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LensAgain {
    /// The program, or the kernel's image; `None` if there are many programs, built from commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<SavedFile>,
    /// The lens's plugin.
    pub plugin: SavedFile,
    /// The kernel as an ELF file with debugging information, if given.
    pub vmlinux: Option<SavedFile>,
    /// Directory in which a program runs, because its arguments may depend on it; `None` for a kernel.
    pub directory: Option<String>,
    /// Whether a program's whole run is counted, including what is outside marks.
    pub whole: bool,
    /// Memory of each machine in MiB, if given.
    pub memory_mib: Option<u64>,
    /// The costs as they were; a measured table may have changed since.
    pub times: CostTimes,
    /// Bounds of each CPU's own cache; `None` for caches without bounds.
    pub cache: Option<CacheBounds>,
    /// The run that it is compared with.
    pub baseline: Option<i64>,
    /// How a program runs in a guest; `None` for kernels, and in runs of older versions, whose programs ran in QEMU's user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<ProgramGuest>,
    /// What a system that the emulator starts by itself needs; `None` for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineFiles>,
}

/// Files of a system that the emulator starts by itself, beside its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFiles {
    /// What its kernel is given: each file with its arguments.
    pub modules: Vec<(SavedFile, String)>,
    /// ELF files from which names come.
    pub symbols: Vec<SavedFile>,
}

/// How a program runs in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramGuest {
    /// The kernel's image.
    pub kernel: SavedFile,
    /// Further files: their paths on the host, and in the guest if those differ.
    pub with: Vec<(String, Option<String>)>,
    /// The program's environment.
    pub environment: Vec<(String, String)>,
    /// The kernel is counted too.
    pub kernel_too: bool,
    /// Directories of the host with debug files, besides the system's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub debug_directories: Vec<String>,
    /// SHA-256 of all files, in hexadecimal; `None` if there are many programs, built from commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_sha256: Option<String>,
}

/// A file, and the hash of its contents.
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
    /// What else takes time, if rates are predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<DelaySettings>,
}

/// Times that only predictions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelaySettings {
    /// They belong to the table of costs. Otherwise they are orders of magnitude.
    pub is_measured: bool,
    /// An atomic read-modify-write of a line that the CPU has, in picoseconds.
    pub atomic_ps: u32,
    /// How much of a transfer's time passes until the request reaches the CPU that has the line, in percent.
    pub request_percent: u32,
    /// Waking a halted CPU.
    pub wake_ns: u32,
    /// An interrupt from another CPU.
    pub interrupt_ns: u32,
    /// From user mode to the kernel and back.
    pub entry_ns: u32,
}

/// Bounds of a CPU's own cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBounds {
    /// Lines that it holds.
    pub lines: u32,
    /// Lines of a set.
    pub ways: u32,
}
