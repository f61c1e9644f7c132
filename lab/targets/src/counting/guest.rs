//! Guests under the lens: a machine for each number of CPUs, a boot for each execution.

use super::{AtEnd, Counted, Counting, Lens};
use crate::execution::LineSink;
use crate::qemu::{GuestExecution, QemuMachine};
use crate::{Ending, Execution, StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::machine::MachineShape;
use std::time::Duration;

/// The kernel's array with the offset of each CPU's own variables.
pub(super) const PER_CPU_OFFSET: &str = "__per_cpu_offset";

/// A guest that can count.
#[derive(Debug)]
pub struct CountingGuest {
    /// The one that has booted and provides the facts.
    first: QemuMachine,
    machines: Vec<QemuMachine>,
    /// Numbers of CPUs.
    cpus: Vec<u32>,
    lens: Lens,
    per_cpu_offset: Option<u64>,
}

impl CountingGuest {
    /// The machine in each of these shapes, with the time that its boot may take. `symbols`: those of its kernel.
    pub fn new(first: QemuMachine, shapes: &[(MachineShape, Duration)], lens: Lens, symbols: &[KernelSymbol]) -> Self {
        let machines: Vec<_> = shapes.iter().map(|&(shape, boot_limit)| first.with_shape(shape, boot_limit)).collect();
        let most = shapes.iter().map(|(shape, _)| shape.cpus()).max().unwrap_or(first.cpus().len() as u32);
        let per_cpu_offset = symbols.iter().find(|symbol| symbol.name == PER_CPU_OFFSET).map(|symbol| symbol.address);
        CountingGuest { first, machines, cpus: (0..most).collect(), lens, per_cpu_offset }
    }

    fn try_count(
        &self,
        execution: &Execution,
        cpus: u32,
        seed: Option<u64>,
        at_end: &AtEnd<'_>,
        sink: &mut LineSink<'_>,
        stop: &StopFlag,
    ) -> Result<Counted, String> {
        let machine = self.machines.iter().find(|machine| machine.request().shape.cpus() == cpus);
        let machine = machine.ok_or_else(|| format!("there is no machine of {cpus} CPUs"))?;
        let (plugin, file) = self.lens.attached(cpus, false)?;
        let (plugin, at_end, per_cpu_offset) = (Some(&plugin), Some(at_end), self.per_cpu_offset);
        let wanted = GuestExecution { execution, plugin, at_end, per_cpu_offset, program: None, seed };
        let executed = machine.execute_in_guest(&wanted, sink, stop);
        let report = file.read(&executed.console).map(|mut report| {
            for (cpu, &offset) in report.cpus.iter_mut().zip(&executed.per_cpu_offsets) {
                cpu.per_cpu_base = Some(offset);
            }
            report
        });
        let seed = seed.filter(|_| executed.repeats_exactly);
        Ok(Counted { ending: executed.ending, report, seed })
    }
}

impl Counting for CountingGuest {
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
        self.first.facts()
    }

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
        self.first.execute(execution, sink, stop)
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}
