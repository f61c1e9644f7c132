//! Guests under the lens: a machine for each number of CPUs, a boot for each execution. They run workloads, or a user's program.

use super::program::{self, CountedProgram};
use super::{AtEnd, Counted, Counting, Lens};
use crate::execution::LineSink;
use crate::qemu::{GuestExecution, QemuMachine, Told};
use crate::{Ending, Execution, Plugin, StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::RawReport;
use faultline_model::machine::MachineShape;
use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

/// The kernel's array with the offset of each CPU's own variables.
const PER_CPU_OFFSET: &str = "__per_cpu_offset";

/// A guest that can count.
#[derive(Debug)]
pub struct CountingGuest {
    /// The one that has booted and provides the facts.
    first: QemuMachine,
    /// By numbers of CPUs.
    machines: Vec<QemuMachine>,
    cpus: Vec<u32>,
    lens: Lens,
    per_cpu_offset: Option<u64>,
    /// If `None`, it runs workloads.
    program: Option<InGuest>,
}

/// A user's program, beside the agent that starts it.
#[derive(Debug)]
struct InGuest {
    program: CountedProgram,
    agent_code: Range<u64>,
}

impl CountingGuest {
    /// For workloads: the machine in each of these shapes, with the time that its boot may take. `symbols`: those of its kernel.
    pub fn new(first: QemuMachine, shapes: &[(MachineShape, Duration)], lens: Lens, symbols: &[KernelSymbol]) -> Self {
        let machines: Vec<_> = shapes.iter().map(|&(shape, boot_limit)| first.with_shape(shape, boot_limit)).collect();
        let most = shapes.iter().map(|(shape, _)| shape.cpus()).max().unwrap_or(first.cpus().len() as u32);
        let per_cpu_offset = symbols.iter().find(|symbol| symbol.name == PER_CPU_OFFSET).map(|symbol| symbol.address);
        CountingGuest { first, machines, cpus: (0..most).collect(), lens, per_cpu_offset, program: None }
    }

    /// For a user's program. `symbols`: those of the kernel if it is counted too. Fails if the guest's agent is damaged.
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
        let report = report.map(|report| self.completed(report, &executed.per_cpu_offsets, executed.told));
        Ok(Counted { ending: executed.ending, console: Some(executed.console), report, seed })
    }

    fn selected_by(&self, plugin: Plugin) -> Plugin {
        match &self.program {
            Some(guest) => guest.program.selected_by(plugin, &guest.agent_code),
            None => plugin,
        }
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

    /// Adds what the plugin does not know.
    fn completed(&self, mut report: RawReport, per_cpu_offsets: &[u64], told: Told) -> RawReport {
        for (cpu, &offset) in report.cpus.iter_mut().zip(per_cpu_offsets) {
            cpu.per_cpu_base = Some(offset);
        }
        match self.program {
            Some(_) => program::with_what_was_told(report, told),
            None => report,
        }
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
        self.try_count(execution, tasks, seed, at_end, sink, stop).unwrap_or_else(Counted::not_started)
    }
}

impl Target for CountingGuest {
    fn facts(&self) -> Facts {
        let is_whole = self.program.as_ref().is_some_and(|guest| guest.program.is_whole);
        let plugin = self.lens.described(self.first.request().shape.cpus(), is_whole);
        self.first.facts_with(&self.selected_by(plugin))
    }

    /// None if it runs a program.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        self.first.workloads()
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
