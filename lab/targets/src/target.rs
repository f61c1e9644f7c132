//! What every target can do.

use crate::StopFlag;
use crate::counting::Counting;
use crate::execution::{Ending, Execution, LineSink};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::MachineError;
use std::time::Duration;

/// A target can't be used as asked.
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
    /// What machine it is, now.
    fn facts(&self) -> Facts;

    /// Every workload there is, as it describes itself, by name.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError>;

    /// CPUs that may be used, in the order in which tasks are put on them; never empty.
    fn cpus(&self) -> &[u32];

    /// What each execution takes beside the workload's own time: a boot, where there is one.
    fn overhead(&self) -> Duration {
        Duration::ZERO
    }

    /// How long booting before an execution may take, including failed trials; zero if nothing boots. The execution's limit does not include it.
    fn longest_boot(&self) -> Duration {
        Duration::ZERO
    }

    /// How many of the target's CPUs share one that is real; what is not timed by a clock takes that many times as long.
    fn patience(&self) -> u32 {
        1
    }

    /// Executes a workload to its end. When this returns nothing of it runs any more.
    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending;

    /// Its ability to count by the lens, where it has it.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }
}
