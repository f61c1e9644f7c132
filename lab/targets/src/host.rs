//! This host as a target: finds the workloads' programs, executes them under a keeper, and reads the machine's facts. On request it builds the programs
//! with another compiler.

pub mod build;
pub mod command;
mod execute;
mod facts;
pub mod outer_make;
pub mod ping_pong;
mod programs;
mod room;
mod topology;

pub use room::machines_at_once;
pub(crate) use topology::pinning_order;

use crate::execution::LineSink;
use crate::{Ending, Execution, StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use std::path::PathBuf;

/// Paths on this host.
#[derive(Debug, Clone)]
pub struct HostPaths {
    /// Directory of the workloads' programs.
    pub workloads: PathBuf,
    /// Directory in which each execution gets its own scratch directory.
    pub scratch: PathBuf,
    /// A program that runs [`crate::keeper::run`] if [`crate::keeper::ARGUMENT`] is its first argument.
    pub keeper: PathBuf,
}

/// This host.
#[derive(Debug)]
pub struct Host {
    paths: HostPaths,
    cpus: Vec<u32>,
}

impl Host {
    /// This host in its present state. CPUs that are added or removed later are not noticed.
    pub fn new(paths: HostPaths) -> Self {
        Host { paths, cpus: topology::usable_cpus() }
    }
}

impl Target for Host {
    fn facts(&self) -> Facts {
        facts::read(&self.paths, &self.cpus)
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        programs::describe_all(&self.paths.workloads)
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        execute::execute(&self.paths, execution, sink, stop)
    }
}
