//! A program under the lens, in QEMU's user mode: each of its threads has a CPU.

use super::report_file::ReportFile;
use super::{Counted, Lens, MachineModel, Watched};
use faultline_model::lens::raw::{Problem, RawReport};
use faultline_model::plan::PlanItem;
use faultline_symbols::{Image, ProgramNames};
use faultline_targets::qemu_user::{UserExecution, UserProgram};
use faultline_targets::{Ending, Execution, StopFlag};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

/// What stands for the number of threads in a program's arguments.
pub const THREADS: &str = "{threads}";

/// A program under the lens.
pub struct ProgramLens {
    /// The program.
    pub program: UserProgram,
    /// Its arguments; [`THREADS`] stands for the number of threads.
    pub arguments: Vec<String>,
    /// Whether all of the run is counted, not only what lies between marks.
    pub is_whole: bool,
    /// The machine that is modelled.
    pub model: MachineModel,
    /// The plugin's file.
    pub plugin: PathBuf,
    /// Our own program, which can be a keeper.
    pub keeper: PathBuf,
    /// Directory for reports and for the program's scratch files.
    pub scratch: PathBuf,
    /// The program's symbols.
    pub image: Rc<Image>,
}

impl ProgramLens {
    /// CPUs of a machine for that many threads: one for each, and one for the thread that starts them; as many to each socket and
    /// cache.
    pub fn cpus(model: &MachineModel, threads: u32) -> u32 {
        let part = model.sockets.max(1).saturating_mul(model.cpus_per_cache.unwrap_or(1).max(1));
        threads.saturating_add(1).div_ceil(part).saturating_mul(part)
    }

    fn watch_program(
        &self,
        item: &PlanItem,
        execution: &Execution,
        sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
        stop: &StopFlag,
    ) -> Result<Watched<'_>, String> {
        let threads = item.cell.tasks;
        let file = ReportFile::new(&self.scratch)?;
        let cpus = Self::cpus(&self.model, threads);
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), self.is_whole));
        let count = threads.to_string();
        let arguments: Vec<_> = self.arguments.iter().map(|word| word.replace(THREADS, &count).into()).collect();
        let user = UserExecution {
            keeper: &self.keeper,
            scratch: &self.scratch,
            plugin: &plugin,
            arguments: &arguments,
            limit: execution.limit,
        };
        let ending = self.program.execute(&user, sink, stop);
        let counted = file.read(stderr(&ending)).map(|mut report| {
            say_what_lacks(&mut report);
            let load_base = report.program.as_ref().and_then(|program| program.load_base).unwrap_or(0);
            Counted { names: Box::new(ProgramNames::new(self.image.clone(), load_base)), report }
        });
        Ok(Watched { ending, counted })
    }
}

/// What the plugin leaves to be said to people.
fn say_what_lacks(report: &mut RawReport) {
    for problem in report.problems.iter_mut().filter(|problem| problem.kind == "no_mark") {
        problem.text.push_str("; `--whole` counts all of a run");
    }
    let forked = match report.forks {
        0 => return,
        1 => "once; the process that it started was".to_owned(),
        forks => format!("{forks} times; the processes that it started were"),
    };
    report
        .problems
        .push(Problem { kind: "forks".to_owned(), text: format!("the program forked {forked} not counted") });
}

fn stderr(ending: &Ending) -> &str {
    match ending {
        Ending::Exited { stderr, .. } | Ending::Signalled { stderr, .. } => stderr,
        _ => "",
    }
}

impl Lens for ProgramLens {
    fn watch(
        &self,
        item: &PlanItem,
        execution: &Execution,
        sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
        stop: &StopFlag,
    ) -> Watched<'_> {
        self.watch_program(item, execution, sink, stop).unwrap_or_else(Watched::not_started)
    }

    fn is_workload(&self) -> bool {
        false
    }
}
