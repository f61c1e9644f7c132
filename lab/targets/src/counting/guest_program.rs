//! Users' programs in guests under the lens: a machine for each number of threads, a boot for each execution.

use super::guest::PER_CPU_OFFSET;
use super::{AtEnd, Counted, Counting, Lens};
use crate::execution::LineSink;
use crate::program_files::ProgramFiles;
use crate::qemu::{GuestExecution, ProgramRun, QemuMachine, Told};
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::{Problem, RawReport};
use faultline_model::machine::MachineShape;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// A user's program, and what is counted of it.
#[derive(Debug, Clone)]
pub struct ProgramInGuest {
    /// The program with all its files.
    pub files: Rc<ProgramFiles>,
    /// The directory in which it runs.
    pub directory: String,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// The whole run is counted, including what is outside marks.
    pub is_whole: bool,
    /// The kernel is counted too.
    pub kernel_too: bool,
}

/// A guest in which a program can be counted. An execution's arguments are the program's.
#[derive(Debug)]
pub struct CountingGuestProgram {
    /// The machine that has booted and provides the facts.
    first: QemuMachine,
    /// By numbers of CPUs.
    machines: Vec<QemuMachine>,
    cpus: Vec<u32>,
    program: ProgramInGuest,
    lens: Lens,
    agent_code: Range<u64>,
    per_cpu_offset: Option<u64>,
}

impl CountingGuestProgram {
    /// The machine in each of these shapes, with the time that its boot may take. `symbols`: those of its kernel if it is counted too. Fails if the
    /// guest's agent is damaged.
    pub fn new(
        first: QemuMachine,
        shapes: &[(MachineShape, Duration)],
        program: ProgramInGuest,
        lens: Lens,
        symbols: &[KernelSymbol],
    ) -> Result<Self, TargetError> {
        let machines: Vec<_> = shapes.iter().map(|&(shape, boot_limit)| first.with_shape(shape, boot_limit)).collect();
        let most = shapes.iter().map(|(shape, _)| shape.cpus()).max().unwrap_or(first.cpus().len() as u32);
        let per_cpu_offset = symbols.iter().find(|symbol| symbol.name == PER_CPU_OFFSET).map(|symbol| symbol.address);
        let agent_code = first.agent_code()?;
        Ok(CountingGuestProgram {
            first,
            machines,
            cpus: (0..most).collect(),
            program,
            lens,
            agent_code,
            per_cpu_offset,
        })
    }

    fn try_count(
        &self,
        execution: &Execution,
        threads: u32,
        seed: Option<u64>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Result<Counted, String> {
        let cpus = self.lens.model.cpus_for_threads(threads);
        let machine = self.machines.iter().find(|machine| machine.request().shape.cpus() == cpus);
        let machine = machine.ok_or_else(|| format!("there is no machine of {cpus} CPUs"))?;
        let (plugin, file) = self.lens.attached(cpus, self.program.is_whole)?;
        let plugin = self.selecting(plugin);
        let execution = self.in_environment(execution);
        let (plugin, per_cpu_offset) = (Some(&plugin), self.per_cpu_offset);
        let wanted = GuestExecution { plugin, per_cpu_offset, seed, ..self.wanted(&execution) };
        let executed = machine.execute_in_guest(&wanted, sink, stop);
        let seed = seed.filter(|_| executed.repeats_exactly);
        let report = file.read(&executed.console).map(|mut report| {
            for (cpu, &offset) in report.cpus.iter_mut().zip(&executed.per_cpu_offsets) {
                cpu.per_cpu_base = Some(offset);
            }
            with_what_was_told(report, executed.told)
        });
        Ok(Counted { ending: executed.ending, report, seed })
    }

    fn wanted<'a>(&'a self, execution: &'a Execution) -> GuestExecution<'a> {
        let program = ProgramRun {
            files: &self.program.files,
            directory: &self.program.directory,
            is_whole: self.program.is_whole,
        };
        GuestExecution {
            execution,
            plugin: None,
            at_end: None,
            per_cpu_offset: None,
            program: Some(program),
            seed: None,
        }
    }

    /// The plugin, which counts this program alone, or the kernel too.
    fn selecting(&self, mut plugin: Plugin) -> Plugin {
        let Range { start, end } = self.agent_code;
        plugin.values.push(("agent".to_owned(), format!("{start:x}-{end:x}")));
        if self.program.kernel_too {
            plugin.values.push(("kernel_too".to_owned(), "on".to_owned()));
        }
        plugin
    }

    fn in_environment(&self, execution: &Execution) -> Execution {
        let environment = self.program.environment.iter().chain(&execution.environment).cloned().collect();
        Execution { environment, ..execution.clone() }
    }
}

/// Adds what the plugin does not know, and what people should know.
fn with_what_was_told(mut report: RawReport, told: Told) -> RawReport {
    super::add_hint_at_marks(&mut report);
    let mut add = |kind: &str, text: String| report.problems.push(Problem { kind: kind.to_owned(), text });
    if told.has_left_processes {
        add("left_processes", "processes that the program started went on after it; they were killed".to_owned());
    }
    if let Some(reason) = told.no_mappings {
        add("no_mappings", format!("names may be missing: {reason}"));
    }
    report.forks = told.processes.saturating_sub(1);
    report.mappings = told.mappings;
    report
}

impl Counting for CountingGuestProgram {
    /// Nobody looks at the memory at the end: structures that the kernel allocated have no names here.
    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        _at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        self.try_count(execution, tasks, seed, sink, stop).unwrap_or_else(Counted::not_started)
    }
}

impl Target for CountingGuestProgram {
    fn facts(&self) -> Facts {
        self.first.facts()
    }

    /// None, because a program is not a workload.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn overhead(&self) -> Duration {
        self.first.overhead()
    }

    fn longest_boot(&self) -> Duration {
        self.machines.iter().map(Target::longest_boot).max().unwrap_or_default()
    }

    fn patience(&self) -> u32 {
        self.machines.iter().map(Target::patience).max().unwrap_or(1)
    }

    /// Executes on the machine that has booted.
    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let execution = self.in_environment(execution);
        self.first.execute_in_guest(&self.wanted(&execution), sink, stop).ending
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}
