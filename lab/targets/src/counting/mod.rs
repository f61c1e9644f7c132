//! Counting with the lens, a capability of some targets. A plugin of the emulator counts the cache
//! lines that move between CPUs and writes a report. Other crates find names for the lines and the
//! code.

mod bounds;
mod guest;
mod lens;
mod machine;
pub(crate) mod model;

pub use bounds::{FunctionStart, RegionBounds};
pub use guest::{CountableGuest, CountedProgram, CountingGuest};
pub use lens::Lens;
pub use machine::CountingMachine;
pub use model::{MachineModel, Plugin, Quanta};

use crate::execution::LineSink;
use crate::{Ending, Execution, StopFlag};
use faultline_record::lens::counted::CountedReport;
use faultline_record::lens::guest_kernel::PhysicalMemory;

/// Callback that reads the memory of a machine that is halted at the end of the region of interest.
/// May be called several times.
pub type AtEnd<'a> = dyn Fn(&dyn PhysicalMemory) + Sync + 'a;

/// A target's capability to count during an execution. Several threads may count executions at the
/// same time.
pub trait Counting: Sync {
    /// Maximum memory of this host for one execution, in bytes. `None` if executions cannot run
    /// side by side, because each uses all CPUs of this host.
    fn room_bytes(&self) -> Option<u64> {
        None
    }

    /// Executes like [`crate::Target::execute`], on a machine for that many tasks, and counts.
    /// `seed`: of the machine's random numbers, if it has a seed. `at_end` receives the memory of a
    /// target that exposes it. All processes have ended on return.
    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Counted;
}

/// The result of an execution that was counted.
#[derive(Debug)]
pub struct Counted {
    /// Ending of the execution.
    pub ending: Ending,
    /// The last output of the machine's console, at most 16 KiB; `None` if no machine was booted
    /// for the execution.
    pub console: Option<String>,
    /// The counts, or the reason why there are none.
    pub report: Result<CountedReport, String>,
    /// Seed with which the machine repeats itself exactly, on any host; `None` if it may not.
    pub seed: Option<u64>,
}

impl Counted {
    /// An execution that never started because this host failed; `text` is the cause.
    pub fn lab_failed(text: String) -> Self {
        Counted { report: Err(text.clone()), ending: Ending::LabFailed { text }, console: None, seed: None }
    }
}
