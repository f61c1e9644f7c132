//! The interface of every target.

use crate::StopFlag;
use crate::counting::Counting;
use crate::execution::{Ending, Executed, Execution, LineSink};
use crate::network::Connection;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::MachineError;
use std::time::Duration;

/// A target cannot be used as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TargetError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: String,
}

impl From<MachineError> for TargetError {
    fn from(error: MachineError) -> Self {
        TargetError { problem: error.problem, hint: error.hint }
    }
}

/// A machine on which workloads run.
pub trait Target {
    /// The facts about the machine, now.
    fn facts(&self) -> Facts;

    /// Every workload, as it describes itself, by name. Fails if there are none, or if one cannot be read.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError>;

    /// CPUs that may be used, in the order in which tasks are placed on them; never empty.
    fn cpus(&self) -> &[u32];

    /// Time of each execution in addition to the workload's own: a boot, if there is one.
    fn overhead(&self) -> Duration {
        Duration::ZERO
    }

    /// How long booting before an execution may take, including failed trials; zero if nothing boots. The execution's limit does not include it.
    fn longest_boot(&self) -> Duration {
        Duration::ZERO
    }

    /// How many of the target's CPUs share one real CPU. Everything that no clock limits takes that many times as long.
    fn patience(&self) -> u32 {
        1
    }

    /// The ends of the connection over which the machine is reached; `None` if it is reached in another way, or does not say.
    fn connection(&self) -> Option<Connection> {
        None
    }

    /// Executes a workload to its end. When this returns, all its processes have ended.
    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending;

    /// The same, with what the machine's console printed if one is booted for each execution.
    fn execute_with_console(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Executed {
        self.execute(execution, sink, stop).into()
    }

    /// Its ability to count with the lens, if it has it.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }
}
