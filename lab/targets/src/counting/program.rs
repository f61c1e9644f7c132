//! A user's program in a guest under the lens: what is counted of it, and what the guest's agent tells of it.

use crate::program_files::ProgramFiles;
use crate::qemu::{ProgramRun, Told};
use crate::{Execution, Plugin};
use faultline_model::lens::problem::Problem;
use faultline_model::lens::raw::RawReport;
use std::ops::Range;
use std::sync::Arc;

/// A user's program, and what is counted of it. An execution's arguments are the program's.
#[derive(Debug, Clone)]
pub struct CountedProgram {
    /// The program with all its files.
    pub files: Arc<ProgramFiles>,
    /// The directory in which it runs.
    pub directory: String,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// The whole run is counted, including what is outside marks.
    pub is_whole: bool,
    /// The kernel is counted too.
    pub kernel_too: bool,
}

impl CountedProgram {
    /// The program as the guest runs it.
    pub(super) fn run(&self) -> ProgramRun<'_> {
        ProgramRun { files: &self.files, directory: &self.directory, is_whole: self.is_whole }
    }

    /// The execution in the program's environment.
    pub(super) fn in_environment(&self, execution: &Execution) -> Execution {
        let environment = self.environment.iter().chain(&execution.environment).cloned().collect();
        Execution { environment, ..execution.clone() }
    }

    /// The plugin, which counts this program alone, or the kernel too.
    pub(super) fn selected_by(&self, mut plugin: Plugin, agent_code: &Range<u64>) -> Plugin {
        let Range { start, end } = agent_code;
        plugin.values.push(("agent".to_owned(), format!("{start:x}-{end:x}")));
        if self.kernel_too {
            plugin.values.push(("kernel_too".to_owned(), "on".to_owned()));
        }
        plugin
    }
}

/// Adds what the plugin does not know.
pub(super) fn with_what_was_told(mut report: RawReport, told: Told) -> RawReport {
    report.problems.extend(told.has_left_processes.then_some(Problem::LeftProcesses));
    report.problems.extend(told.no_mappings.map(|reason| Problem::NoMappings { reason }));
    report.forks = told.processes.saturating_sub(1);
    report.mappings = told.mappings;
    report.generated = told.generated;
    report
}
