//! Guests that are ready, and of which others are made that count.

use super::{CountedProgram, CountingGuest, Lens};
use crate::qemu::QemuMachine;
use crate::{StopFlag, Target, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::machine::{MachineShape, counted_boot_limit};

/// A guest that is ready, for workloads or for users' programs.
pub trait CountableGuest {
    /// The facts about it, without the lens.
    fn facts(&self) -> Facts;

    /// Every workload, as it describes itself, by name; none in a guest for programs. Fails if one cannot be read.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError>;

    /// The kernel's symbols in their order. Fails if they cannot be read, or on a stop.
    fn symbols(&self, stop: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError>;

    /// The guest in each of these shapes, under the lens. It runs `program`, or workloads if `None`. `symbols`: those of its kernel if that is counted.
    /// Fails if it cannot run the program.
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
