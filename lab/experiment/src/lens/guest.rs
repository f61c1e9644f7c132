//! What runs under the lens have in common: the kernel's image, and the machines.

use super::request::UnderLens;
use super::{gates, model};
use crate::error::Error;
use crate::places::Places;
use faultline_model::machine::{Accelerator, Guest, MachineShape, usual_boot_limit};
use faultline_symbols::SymbolError;
use faultline_targets::counting::MachineModel;
use faultline_targets::qemu::{KernelImage, MachineRequest, Named};
use std::path::Path;

/// The named image, or the default of this machine. Fails if there is none.
pub(super) fn image(named: Option<&Path>, places: &Places) -> Result<KernelImage, Error> {
    match named {
        Some(named) => KernelImage::open(named).map_err(|error| {
            Error::usage(error.problem, "`--kernel` takes a bzImage or a vmlinuz for x86-64 that can be read")
        }),
        None => KernelImage::of_this_machine(places.kernel.as_deref()).map_err(|error| {
            Error::usage(
                error.problem,
                "`make kernel` unpacks one; or install one, for example with `apt-get install linux-image-amd64`; or name one with `--kernel`",
            )
        }),
    }
}

/// The numbers of CPUs, each once, the smallest first.
pub(super) fn each_once(cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut cpus: Vec<u32> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// A machine for each number of CPUs, the smallest first.
pub(super) fn shapes(cpus: &[u32], sockets: u32, memory_mib: Option<u64>) -> Result<Vec<MachineShape>, Error> {
    each_once(cpus.iter().copied())
        .iter()
        .map(|&cpus| MachineShape::new(cpus, sockets, memory_mib))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::usage(error.problem, error.hint))
}

/// The modelled machine, and a machine for each number of CPUs. CPUs take turns. Fails if the modelled machine is impossible, or if a budget is for another
/// number of CPUs.
pub(super) fn modelled(
    under: &UnderLens,
    cpus: &[u32],
    memory_mib: Option<u64>,
    places: &Places,
) -> Result<(MachineModel, Vec<MachineShape>), Error> {
    model::check_turns(&under.model)?;
    let machine = model::machine(&under.model, places)?;
    machine.check(cpus).map_err(Error::target_as_usage)?;
    let shapes = shapes(cpus, under.model.sockets, memory_mib)?;
    gates::check_counts(&under.gates, cpus)?;
    Ok((machine, shapes))
}

/// The machine of a shape, as it is saved. `kernel`: the file of its kernel.
pub(super) fn guest(shape: MachineShape, kernel: &Path, parameters: &[String]) -> Guest {
    Guest {
        shape,
        kernel: Some(kernel.to_owned()),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(shape.cpus()),
        parameters: parameters.to_vec(),
    }
}

/// The machine that the guest describes, with this kernel.
pub(super) fn machine_request(guest: Guest, kernel: KernelImage) -> MachineRequest {
    let Guest { shape, accelerator, boot_limit, parameters, .. } = guest;
    MachineRequest { shape, kernel, accelerator, boot_limit, parameters, named: Named::ByOptions }
}

pub(super) fn symbols_failed(error: SymbolError) -> Error {
    Error::usage(error.problem, error.hint)
}
