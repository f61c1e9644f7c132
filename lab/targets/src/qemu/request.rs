//! The request for a guest, and where its parts are.

use super::KernelImage;
use crate::host::HostPaths;
use faultline_model::machine::{Accelerator, MachineShape};
use std::path::PathBuf;
use std::time::Duration;

/// The requested machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRequest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel.
    pub kernel: KernelImage,
    /// How instructions are executed.
    pub accelerator: Accelerator,
    /// How long the kernel may print nothing until the agent's hello.
    pub boot_limit: Duration,
    /// Further parameters for the kernel.
    pub parameters: Vec<String>,
    /// How a user names its properties.
    pub named: Named,
}

/// How a user names the properties of a machine, for hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// As keys of `--on`.
    InOn,
    /// By options of their own.
    ByOptions,
}

/// Paths on the host.
#[derive(Debug, Clone)]
pub struct GuestPaths {
    /// Directory with `agent` and `workloads/`, linked statically.
    pub guest: PathBuf,
    /// The host's own workloads and scratch directory, and the keeper.
    pub host: HostPaths,
    /// Directory of the user's caches.
    pub cache: PathBuf,
}
