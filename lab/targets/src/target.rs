//! What every target can do.

use crate::StopFlag;
use crate::keep::{End, Ended};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::outcome::GuestFailure;
use std::ops::ControlFlow;
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

/// One execution of a workload's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The workload's name.
    pub workload: String,
    /// Its arguments but for the scratch directory, which the target adds.
    pub arguments: Vec<String>,
    /// It is killed when it has not ended after this long.
    pub limit: Duration,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With an exit status.
    Exited {
        /// The status.
        status: i32,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// By a signal that was not ours.
    Signalled {
        /// The signal's number.
        signal: i32,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// Killed at its time limit.
    TimedOut,
    /// Killed because the sink had enough.
    Refused,
    /// Killed because a stop was asked for.
    Stopped,
    /// It never began.
    NotStarted {
        /// Why, in words.
        text: String,
    },
    /// The guest in which it ran failed.
    GuestFailed {
        /// In which way.
        failure: GuestFailure,
        /// What was seen, in words.
        text: String,
        /// The end of what the guest's kernel and the emulator said.
        console: String,
    },
}

/// The signal that ends a process whose keeper is gone; its number is 9 on every system.
const SIGKILL: i32 = 9;

/// What is said in place of the last words of a program whose keeper was killed.
const KEEPER_KILLED: &str = "its keeper was killed";

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        let stderr = ended.stderr;
        match ended.end {
            End::Exited(status) => Ending::Exited { status, stderr },
            End::Signalled(signal) => Ending::Signalled { signal, stderr },
            End::KeeperKilled => Ending::Signalled { signal: SIGKILL, stderr: KEEPER_KILLED.to_owned() },
            End::NotStarted(text) => Ending::NotStarted { text },
            End::TimedOut => Ending::TimedOut,
            End::Refused => Ending::Refused,
            End::Stopped => Ending::Stopped,
        }
    }
}

/// Takes the lines of a workload's output, without their ends, as they come; `Break` has the workload killed.
pub type LineSink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

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

    /// How many of the target's CPUs share one that is real; what is not timed by a clock takes that many times as long.
    fn patience(&self) -> u32 {
        1
    }

    /// Executes a workload to its end. When this returns nothing of it runs any more.
    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending;
}
