//! Counting by the lens, an ability that a target may have. A plugin of the emulator counts the cache lines that move between the CPUs,
//! and leaves a report. Other crates find names for what was counted.

mod countable;
mod guest;
mod lens;
mod machine;
mod model;
mod program;
mod report_file;

pub use countable::CountableGuest;
pub use guest::CountingGuest;
pub use lens::Lens;
pub use machine::CountingMachine;
pub use model::{MachineModel, Quanta};
pub use program::CountedProgram;

use crate::execution::LineSink;
use crate::{Ending, Execution, StopFlag};
use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::lens::raw::RawReport;

/// Looks at the memory of a machine that stands still because the counted part has ended. May be called several times.
pub type AtEnd<'a> = dyn Fn(&dyn PhysicalMemory) + Sync + 'a;

/// A target's ability to count while it executes. Executions may be counted on several threads at the same time.
pub trait Counting: Sync {
    /// Memory of this host that one execution takes at most, in bytes. `None` if executions cannot run side by side, because each uses all
    /// CPUs of this host.
    fn room_bytes(&self) -> Option<u64> {
        None
    }

    /// Executes like [`crate::Target::execute`], on a machine for that many tasks, and counts. `seed`: that of the machine's random
    /// numbers, if it has one. `at_end` gets the memory of a target that has it. When this returns, all its processes have ended.
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
    /// How it ended.
    pub ending: Ending,
    /// The last output of the machine's console, at most 16 KiB; `None` if no machine was booted for the execution.
    pub console: Option<String>,
    /// What was counted, or the reason in words why there is none.
    pub report: Result<RawReport, String>,
    /// The seed with which the machine does exactly the same again, on any host; `None` if it may not.
    pub seed: Option<u64>,
}

impl Counted {
    /// An execution that never started, with the reason in words.
    pub fn not_started(text: String) -> Self {
        Counted { report: Err(text.clone()), ending: Ending::NotStarted { text }, console: None, seed: None }
    }
}
