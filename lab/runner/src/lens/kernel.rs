//! Workloads in a guest under the lens: a machine for each number of CPUs, a boot for each execution.

use super::report_file::ReportFile;
use super::{Counted, Lens, MachineModel, Watched};
use faultline_model::lens::raw::RawReport;
use faultline_model::plan::PlanItem;
use faultline_symbols::{Image, Kallsyms, KernelNames};
use faultline_targets::qemu::{GuestExecution, QemuMachine};
use faultline_targets::{Execution, StopFlag};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

/// The kernel's array of where each CPU's own variables are.
const PER_CPU_OFFSET: &str = "__per_cpu_offset";

/// A guest under the lens.
pub struct KernelLens {
    /// A machine for each number of CPUs.
    pub machines: Vec<QemuMachine>,
    /// The machine that is modelled.
    pub model: MachineModel,
    /// The plugin's file.
    pub plugin: PathBuf,
    /// Directory for reports.
    pub scratch: PathBuf,
    /// The guest's symbols.
    pub symbols: Rc<Kallsyms>,
    /// The kernel with its debugging information, where there is one.
    pub vmlinux: Option<Rc<Image>>,
}

impl KernelLens {
    fn machine(&self, cpus: u32) -> Result<&QemuMachine, String> {
        let machine = self.machines.iter().find(|machine| machine.request().shape.cpus() == cpus);
        machine.ok_or_else(|| format!("there is no machine of {cpus} CPUs"))
    }

    fn watch_in(
        &self,
        item: &PlanItem,
        execution: &Execution,
        sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
        stop: &StopFlag,
    ) -> Result<Watched<'_>, String> {
        let cpus = item.cell.tasks;
        let file = ReportFile::new(&self.scratch)?;
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), false));
        let per_cpu_offset = self.symbols.address(PER_CPU_OFFSET);
        let wanted = GuestExecution { execution, plugin: Some(&plugin), per_cpu_offset };
        let executed = self.machine(cpus)?.execute_in_guest(&wanted, sink, stop);
        let counted = file.read(&executed.console).map(|report| self.counted(report, &executed.per_cpu_offsets));
        Ok(Watched { ending: executed.ending, counted })
    }

    fn counted(&self, mut report: RawReport, per_cpu_offsets: &[u64]) -> Counted<'_> {
        for (cpu, &offset) in report.cpus.iter_mut().zip(per_cpu_offsets) {
            cpu.per_cpu_base = Some(offset);
        }
        let names = KernelNames::new(self.symbols.clone(), self.vmlinux.clone(), &report);
        Counted { report, names: Box::new(names) }
    }
}

impl Lens for KernelLens {
    fn watch(
        &self,
        item: &PlanItem,
        execution: &Execution,
        sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
        stop: &StopFlag,
    ) -> Watched<'_> {
        self.watch_in(item, execution, sink, stop).unwrap_or_else(Watched::not_started)
    }

    fn is_workload(&self) -> bool {
        true
    }
}
