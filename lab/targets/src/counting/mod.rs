//! Counting by the lens, an ability that a target may have. A plugin of the emulator counts the cache lines that move between the CPUs,
//! and leaves a report. Other crates find names for what was counted.

mod guest;
mod model;
mod program;
mod report_file;

pub use guest::CountingGuest;
pub use model::{MachineModel, Quanta};
pub use program::CountedProgram;

use crate::execution::LineSink;
use crate::qemu::QemuMachine;
use crate::{Ending, Execution, Plugin, StopFlag};
use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::lens::raw::RawReport;
use report_file::ReportFile;
use std::path::PathBuf;

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
    /// What was counted, or the reason in words why there is none.
    pub report: Result<RawReport, String>,
    /// The seed with which the machine does exactly the same again, on any host; `None` if it may not.
    pub seed: Option<u64>,
}

impl Counted {
    /// An execution that never started, with the reason in words.
    pub fn not_started(text: String) -> Self {
        Counted { report: Err(text.clone()), ending: Ending::NotStarted { text }, seed: None }
    }
}

/// The lens: its plugin, and the modelled machine.
#[derive(Debug, Clone)]
pub struct Lens {
    /// The plugin's file.
    pub plugin: PathBuf,
    /// The machine, except for its number of CPUs.
    pub model: MachineModel,
    /// Directory for reports.
    pub scratch: PathBuf,
}

impl Lens {
    /// The plugin for a machine of `cpus` CPUs, for people: without a place for its report.
    fn described(&self, cpus: u32, is_whole: bool) -> Plugin {
        self.model.plugin(&self.plugin, cpus, "REPORT", is_whole)
    }

    /// The plugin for a machine of `cpus` CPUs, and the place of its report. Fails, in words, if the machine cannot exist or there is no place for the report.
    fn attached(&self, cpus: u32, is_whole: bool) -> Result<(Plugin, ReportFile), String> {
        let file = ReportFile::new(&self.scratch)?;
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), is_whole));
        Ok((plugin, file))
    }
}

/// Memory that an emulator takes in addition to the guest's: its buffer for translated code, and the plugin's tables.
const EMULATOR_BYTES: u64 = 1 << 30;

/// Memory of this host that the largest of these machines takes at most, in bytes.
fn most_room_bytes(machines: &[QemuMachine]) -> u64 {
    let guest = machines.iter().map(|machine| machine.request().shape.memory_mib() << 20).max();
    EMULATOR_BYTES + guest.unwrap_or_default()
}
