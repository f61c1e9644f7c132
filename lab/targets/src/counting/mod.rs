//! Counting by the lens, which a target may be capable of: an emulator's plugin counts the cache lines that move between the CPUs,
//! and leaves a report. Names for what was counted are for others to find.

mod guest;
mod model;
mod program;
mod report_file;

pub use guest::CountingGuest;
pub use model::{MachineModel, Quanta};
pub use program::CountingProgram;

use crate::execution::LineSink;
use crate::{Ending, Execution, Plugin, StopFlag};
use faultline_model::lens::raw::RawReport;
use report_file::ReportFile;
use std::path::PathBuf;

/// A target's ability to count while it executes.
pub trait Counting {
    /// Executes as [`crate::Target::execute`] does, on a machine for that many tasks, and counts. When this returns nothing of it
    /// runs any more.
    fn count(&self, execution: &Execution, tasks: u32, sink: &mut LineSink<'_>, stop: &StopFlag) -> Counted;
}

/// What came of an execution that was counted.
#[derive(Debug)]
pub struct Counted {
    /// How it ended.
    pub ending: Ending,
    /// What was counted; else why nothing is known, in words.
    pub report: Result<RawReport, String>,
}

impl Counted {
    /// It never began, in words why.
    pub fn not_started(text: String) -> Self {
        Counted { report: Err(text.clone()), ending: Ending::NotStarted { text } }
    }
}

/// The lens: its plugin, and the machine that it models.
#[derive(Debug, Clone)]
pub struct Lens {
    /// The plugin's file.
    pub plugin: PathBuf,
    /// The machine, but for its number of CPUs.
    pub model: MachineModel,
    /// Directory for reports.
    pub scratch: PathBuf,
}

impl Lens {
    /// The plugin for a machine of `cpus` CPUs, and where its report will be. The error is in words.
    fn attached(&self, cpus: u32, is_whole: bool) -> Result<(Plugin, ReportFile), String> {
        let file = ReportFile::new(&self.scratch)?;
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), is_whole));
        Ok((plugin, file))
    }
}
