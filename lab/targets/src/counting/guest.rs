//! Guests under the lens: one machine per number of CPUs, one boot per execution. They run
//! workloads or a user's program.

use super::{AtEnd, Counted, Counting, Lens, RegionBounds};
use crate::execution::LineSink;
use crate::program_files::ProgramFiles;
use crate::qemu::{GuestExecution, ProgramRun, QemuMachine, Told};
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_lens_format::{RawProcesses, RawReport};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::lens::problem::Problem;
use faultline_record::machine::{MachineShape, counted_boot_limit};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The kernel's array with the offset of each CPU's own variables.
const PER_CPU_OFFSET: &str = "__per_cpu_offset";

/// A guest that can count.
#[derive(Debug)]
pub struct CountingGuest {
    /// The machine that has booted and provides the facts.
    first: QemuMachine,
    /// Machines by number of CPUs.
    machines: Vec<QemuMachine>,
    cpus: Vec<u32>,
    lens: Lens,
    per_cpu_offset: Option<u64>,
    /// The user's program; `None` if the guest runs workloads.
    program: Option<InGuest>,
}

/// A user's program and the agent that starts it.
#[derive(Debug)]
struct InGuest {
    program: CountedProgram,
    agent_code: Range<u64>,
}

impl CountingGuest {
    /// A guest for workloads, in each of these shapes, with the time limit of its boot. `symbols`:
    /// those of its kernel.
    pub fn new(first: QemuMachine, shapes: &[(MachineShape, Duration)], lens: Lens, symbols: &[KernelSymbol]) -> Self {
        let machines: Vec<_> = shapes.iter().map(|&(shape, boot_limit)| first.with_shape(shape, boot_limit)).collect();
        let most = shapes.iter().map(|(shape, _)| shape.cpus()).max().unwrap_or(first.cpus().len() as u32);
        let per_cpu_offset = symbols.iter().find(|symbol| symbol.name == PER_CPU_OFFSET).map(|symbol| symbol.address);
        CountingGuest { first, machines, cpus: (0..most).collect(), lens, per_cpu_offset, program: None }
    }

    /// A guest for a user's program. `symbols`: those of the kernel, if the kernel is counted too.
    /// Fails if the guest's agent is damaged.
    pub fn for_program(
        first: QemuMachine,
        shapes: &[(MachineShape, Duration)],
        program: CountedProgram,
        lens: Lens,
        symbols: &[KernelSymbol],
    ) -> Result<Self, TargetError> {
        let agent_code = first.agent_code()?;
        let guest = CountingGuest::new(first, shapes, lens, symbols);
        Ok(CountingGuest { program: Some(InGuest { program, agent_code }), ..guest })
    }

    fn try_count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Result<Counted, String> {
        let cpus = match self.program {
            Some(_) => self.lens.model.cpus_for_threads(tasks),
            None => tasks,
        };
        let machine = self.machines.iter().find(|machine| machine.request().shape.cpus() == cpus);
        let machine = machine.ok_or_else(|| format!("there is no machine of {cpus} CPUs"))?;
        let is_whole = self.program.as_ref().is_some_and(|guest| guest.program.is_whole);
        let (plugin, file) = self.lens.attached(cpus, is_whole)?;
        let plugin = self.selected_by(plugin);
        let execution = self.in_environment(execution);
        let wanted = GuestExecution {
            plugin: Some(&plugin),
            at_end: Some(at_end),
            per_cpu_offset: self.per_cpu_offset,
            seed,
            ..self.wanted(&execution)
        };
        let executed = machine.execute_in_guest(&wanted, sink, stop);
        let seed = seed.filter(|_| executed.repeats_exactly);
        let report = file.read(&executed.console);
        let agent = self.agent_report(executed.per_cpu_offsets, executed.told);
        let report = report.and_then(|counts| self.with_process(counts));
        let report = report.map(|counts| self.with_problems(counts, agent));
        let ending = file.judged(executed.ending, &report);
        Ok(Counted { ending, console: Some(executed.console), report, seed })
    }

    fn selected_by(&self, plugin: Plugin) -> Plugin {
        match &self.program {
            Some(guest) => guest.program.selected_by(plugin, &guest.agent_code),
            None => plugin,
        }
    }

    /// The report. Fails, with a text, if the region did not begin where it should, or if no
    /// process ran the program that is to be counted.
    fn with_process(&self, report: RawReport) -> Result<RawReport, String> {
        let bounds = self.program.as_ref().filter(|_| report.regions == 0).map(|guest| &guest.program.bounds);
        if let Some(reason) = bounds.and_then(RegionBounds::not_reached) {
            return Err(reason);
        }
        let wanted = self.program.as_ref().and_then(|guest| guest.program.process.as_deref());
        match wanted.filter(|_| !report.processes.iter().any(|of| of.is_counted)) {
            None => Ok(report),
            Some(name) => Err(not_run(name, &report.processes)),
        }
    }

    /// The reports, with the problem of a region whose end was not reached.
    fn with_problems(&self, counts: RawReport, mut agent: AgentReport) -> CountedReport {
        let bounds = self.program.as_ref().map(|guest| &guest.program.bounds);
        agent.problems.extend(bounds.and_then(|bounds| bounds.end_not_reached(counts.regions, counts.ended_by_call)));
        CountedReport { counts, agent }
    }

    fn in_environment<'a>(&self, execution: &'a Execution) -> Cow<'a, Execution> {
        match &self.program {
            Some(guest) => Cow::Owned(guest.program.in_environment(execution)),
            None => Cow::Borrowed(execution),
        }
    }

    fn wanted<'a>(&'a self, execution: &'a Execution) -> GuestExecution<'a> {
        let program = self.program.as_ref().map(|guest| guest.program.run());
        GuestExecution { execution, plugin: None, at_end: None, per_cpu_offset: None, seed: None, program }
    }

    fn agent_report(&self, per_cpu_bases: Vec<u64>, told: Told) -> AgentReport {
        let report = self.program.as_ref().map(|_| agent_report(told)).unwrap_or_default();
        AgentReport { per_cpu_bases, ..report }
    }
}

impl Counting for CountingGuest {
    fn room_bytes(&self) -> Option<u64> {
        Some(super::lens::most_room_bytes(&self.machines))
    }

    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        self.try_count(execution, tasks, seed, at_end, sink, stop).unwrap_or_else(Counted::lab_failed)
    }
}

impl Target for CountingGuest {
    fn facts(&self) -> Facts {
        let is_whole = self.program.as_ref().is_some_and(|guest| guest.program.is_whole);
        let plugin = self.lens.described(self.first.request().shape.cpus(), is_whole);
        self.first.facts_with(&self.selected_by(plugin))
    }

    /// Empty if the guest runs a program.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Target::workloads(&self.first)
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

/// A guest that has booted, for workloads or for users' programs.
pub trait CountableGuest {
    /// Facts about the guest without the lens.
    fn facts(&self) -> Facts;

    /// Descriptions of all workloads, sorted by name; empty in a guest for programs. Fails if a
    /// description cannot be read.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError>;

    /// The kernel's symbols, in order. Fails if they cannot be read, or on a stop.
    fn symbols(&self, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError>;

    /// The guest in each of these shapes, under the lens. It runs `program`, or workloads if
    /// `None`. `symbols`: those of its kernel, if the kernel is counted. Fails if the guest cannot
    /// run the program.
    fn counting(
        &self,
        shapes: &[MachineShape],
        lens: Lens,
        program: Option<CountedProgram>,
        symbols: &[KernelSymbol],
    ) -> Result<Box<dyn Target>, TargetError>;
}

impl CountableGuest for QemuMachine {
    fn facts(&self) -> Facts {
        Target::facts(self)
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Target::workloads(self)
    }

    fn symbols(&self, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
        QemuMachine::symbols(self, stop)
    }

    fn counting(
        &self,
        shapes: &[MachineShape],
        lens: Lens,
        program: Option<CountedProgram>,
        symbols: &[KernelSymbol],
    ) -> Result<Box<dyn Target>, TargetError> {
        let first = self.with_shape(self.request().shape, self.request().boot_limit);
        let shapes: Vec<_> = shapes.iter().map(|&shape| (shape, counted_boot_limit(shape.cpus()))).collect();
        Ok(Box::new(match program {
            Some(program) => CountingGuest::for_program(first, &shapes, program, lens, symbols)?,
            None => CountingGuest::new(first, &shapes, lens, symbols),
        }))
    }
}

/// A user's program and the scope of counting. An execution's arguments are the program's.
#[derive(Debug, Clone)]
pub struct CountedProgram {
    /// The program with all its files.
    pub files: Arc<ProgramFiles>,
    /// Working directory on this host.
    pub directory: String,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Count the whole run and ignore marks.
    pub is_whole: bool,
    /// Count the kernel too.
    pub kernel_too: bool,
    /// Name of the program whose processes are counted; all are if `None`.
    pub process: Option<String>,
    /// Bounds of the region besides marks. With bounds, marks are ignored.
    pub bounds: RegionBounds,
}

impl CountedProgram {
    /// The program for the guest.
    pub(super) fn run(&self) -> ProgramRun<'_> {
        ProgramRun { files: &self.files, directory: &self.directory, scope: self.bounds.scope(self.is_whole) }
    }

    /// The execution in the program's environment. `PATH` is the guest's unless the user sets it.
    pub(super) fn in_environment(&self, execution: &Execution) -> Execution {
        let path = ("PATH".to_owned(), self.files.search_path().to_owned());
        let environment =
            std::iter::once(&path).chain(&self.environment).chain(&execution.environment).cloned().collect();
        Execution { environment, ..execution.clone() }
    }

    /// The plugin, set to count this program alone, or the kernel too.
    pub(super) fn selected_by(&self, mut plugin: Plugin, agent_code: &Range<u64>) -> Plugin {
        let Range { start, end } = agent_code;
        plugin.values.push(("agent".to_owned(), format!("{start:x}-{end:x}")));
        if self.kernel_too {
            plugin.values.push(("kernel_too".to_owned(), "on".to_owned()));
        }
        plugin.values.extend(self.bounds.options());
        plugin.values.extend(self.process.clone().map(|name| ("process".to_owned(), name)));
        plugin
    }
}

/// The error for a program that no process ran, in a guest with these.
fn not_run(name: &str, processes: &[RawProcesses]) -> String {
    let names: Vec<&str> = processes.iter().map(|of| of.name.as_str()).filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        true => format!("no process ran {name} in the counted region"),
        false => format!("no process ran {name} in the counted region, only {}", names.join(", ")),
    }
}

/// The agent's report on the program.
fn agent_report(told: Told) -> AgentReport {
    let left = told.has_left_processes.then_some(Problem::LeftProcesses);
    let no_mappings = told.no_mappings.map(|reason| Problem::NoMappings { reason });
    AgentReport {
        forks: told.processes.saturating_sub(1),
        problems: left.into_iter().chain(no_mappings).collect(),
        mappings: told.mappings,
        generated: told.generated,
        ..AgentReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_no_process_ran_is_named_beside_those_that_ran() {
        let of = |name: &str| RawProcesses {
            name: name.to_owned(),
            processes: 1,
            is_counted: false,
            instructions: 9,
            accesses: 3,
            true_sharing: 1,
            false_sharing: 0,
        };
        assert_eq!(not_run("server", &[]), "no process ran server in the counted region");
        let text = not_run("server", &[of("sh"), of(""), of("client")]);
        assert_eq!(text, "no process ran server in the counted region, only sh, client");
    }
}
