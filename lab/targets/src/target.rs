//! The interface of every target.

use crate::StopFlag;
use crate::counting::Counting;
use crate::execution::{Ending, Executed, Execution, LineSink};
use crate::network::Connection;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::MachineError;
use std::time::Duration;

/// Error: a target cannot be used as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TargetError {
    /// One line for people.
    pub problem: String,
    /// Advice for the user.
    pub hint: String,
}

impl From<MachineError> for TargetError {
    fn from(error: MachineError) -> Self {
        TargetError { problem: error.problem, hint: error.hint }
    }
}

/// A machine on which workloads run.
pub trait Target {
    /// Current facts about the machine.
    fn facts(&self) -> Facts;

    /// Descriptions of all workloads, sorted by name. Fails if there are none, or if one cannot be
    /// read.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError>;

    /// Usable CPUs, in pinning order; never empty.
    fn cpus(&self) -> &[u32];

    /// Time of each execution in addition to the workload's own: a boot, if there is one.
    fn overhead(&self) -> Duration {
        Duration::ZERO
    }

    /// Maximum time of the boots before an execution, including failed trials; zero without boots.
    /// The execution's limit does not include it.
    fn longest_boot(&self) -> Duration {
        Duration::ZERO
    }

    /// Number of the target's CPUs that share one real CPU. Work without a clock takes that many
    /// times as long.
    fn patience(&self) -> u32 {
        1
    }

    /// The ends of the connection to the machine; `None` if it is reached in another way, or does
    /// not report them.
    fn connection(&self) -> Option<Connection> {
        None
    }

    /// True if its programs write to this host's disks.
    fn writes_here(&self) -> bool {
        false
    }

    /// Executes a workload until it ends. All its processes have ended on return.
    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending;

    /// [`Self::execute`], with the console's output if a machine is booted for each execution.
    fn execute_with_console(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Executed {
        self.execute(execution, sink, stop).into()
    }

    /// Its capability to count with the lens, if it has it.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }
}
